#pragma once
// How the gradients, values and flags of a step become those of all processes.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stages/compute.h"
#include "stages/torch/learner/passes.h"

namespace flowtrain {

namespace nets {
class Net;
}
struct LearnerSpec;

/// A learner's exchange. A process that trains alone has one, too, which leaves everything as it is. A micro-batch:
/// begin_batch(), then for each pass that is due begin(), forward, backward().
class StepExchange {
 public:
  virtual ~StepExchange() = default;

  /// A micro-batch of `iteration` begins. With the `last` one of an iteration gradients are averaged over the
  /// processes, and the flags travel.
  virtual void begin_batch(std::uint64_t iteration, const Slab& slab, bool last, const StepFlags& flags) = 0;
  /// Before the forward of a pass.
  virtual void begin(std::size_t pass) = 0;
  /// What the mean over the micro-batch's own rows is divided by, so that all that is added up, over micro-batches and
  /// processes, is the mean over the iteration's rows.
  virtual double divisor() const = 0;
  /// Adds the gradients of `loss`, which is divided, to those of the pass. `values` (F) f32, divided likewise: to be
  /// averaged like the loss.
  virtual void backward(std::size_t pass, const at::Tensor& loss, const at::Tensor& scalars) = 0;

  enum class Zeros { sent, not_needed, too_late };
  /// In place of an iteration's last micro-batch, or after that has thrown: this process has no gradients. Not needed:
  /// it is alone, and there are none. Too late: the exchange had begun.
  virtual Zeros contribute_zeros(std::uint64_t iteration, const Slab& slab, const StepFlags& flags) = 0;

  /// After the last backward: Pass::sums, averaged; undefined where the iteration was without the pass.
  virtual at::Tensor scalars(std::size_t pass) const = 0;
  /// What stats() is made of; undefined where that takes nothing.
  virtual at::Tensor flags() const = 0;
  /// Sums of the flags(), which have been read, and how long the exchange took; the rest is empty.
  virtual StepStats stats(std::span<const double> flags) const = 0;
};

/// That of the spec's group, for `passes`, which outlive it. With dist.sync_batch_norm the net's statistics span the
/// processes from now on. Throws UserError.
std::unique_ptr<StepExchange> make_step_exchange(const LearnerSpec& spec, std::vector<Pass>& passes, nets::Net& net);

}  // namespace flowtrain
