#pragma once
// A learner's search for numbers that are not finite.

#include <cstdint>
#include <optional>

#include "nets/models/net.h"
#include "nets/tensors.h"
#include "stages/compute.h"
#include "stages/torch/batch.h"
#include "stages/torch/learner/step_graphs.h"
#include "stages/torch/learner/train_step.h"

namespace flowtrain {

/// Of the learner whose parts it uses, and which they outlive.
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
  explicit TorchNonFiniteSearch(const Parts& parts) : parts_(parts) {}

  std::optional<NonFiniteOrigin> find(Slab& slab, bool in_loss) override;

 private:
  bool fails_alone(const nets::NamedTensors& row, double divisor, bool in_loss);

  Parts parts_;
};

}  // namespace flowtrain
