#pragma once
// A learner's search for numbers that are not finite.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "nets/diagnostics/op_watch.h"
#include "nets/net.h"
#include "nets/package/compiled_net.h"
#include "stages/model/compute.h"
#include "stages/torch/batch.h"
#include "stages/torch/step/step_graphs.h"
#include "stages/torch/step/train_step.h"

namespace flowtrain {

/// Returns the first of `tensors` that is not finite, as origin of the kind `phase`, with its rows if they are those of
/// a batch of `rows` (0: never).
std::optional<NonFiniteOrigin> find_in(const nets::NamedTensors& tensors, const std::string& phase, std::int64_t rows);

/// Turns an operation into an origin. If its output has `rows` rows and is no parameter's gradient, it blames rows that
/// are not finite.
NonFiniteOrigin origin_of(const nets::NonFiniteOp& op, const nets::NamedTensors& parameters, std::int64_t rows);

/// Finds the guilty rows if an operation shows none: calls `fails` with each of the `rows` rows as a batch of one, and
/// blames those for which it returns true.
void blame_rows(const nets::NamedTensors& batch, std::int64_t rows,
                const std::function<bool(const nets::NamedTensors&)>& fails, NonFiniteOrigin& origin);

/// The search of a learner whose parts it uses; they outlive it.
class TorchNonFiniteSearch : public NonFiniteSearch {
 public:
  struct Parts {
    Learner& learner;
    nets::Net& net;
    TrainStep& step;
    BatchAdapter& batches;
    StepGraphs& graphs;
    std::uint32_t accum;  ///< micro-batches of an iteration
  };
  explicit TorchNonFiniteSearch(const Parts& parts) : parts_(parts), compiled_(nets::compiled_net(parts.net)) {}

  std::optional<NonFiniteOrigin> find(Slab& slab, bool in_loss) override;

 private:
  bool fails_alone(const nets::NamedTensors& row, double divisor, bool in_loss);

  Parts parts_;
  const nets::CompiledNet* compiled_;  // the net, if it is compiled; otherwise null
};

}  // namespace flowtrain
