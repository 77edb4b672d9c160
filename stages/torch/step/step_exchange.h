#pragma once
// How the gradients, values and flags of a step become those of all processes.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stages/model/compute.h"
#include "stages/torch/step/passes.h"

namespace flowtrain {

namespace nets {
class Net;
}
class DataParallel;
struct LearnerSpec;

/// A learner's exchange. A process that trains alone has one, too, which leaves everything as it is. A micro-batch:
/// begin_batch(), then for each pass that is due begin(), forward, backward().
class StepExchange {
 public:
  /// That of the spec's group, for `passes`, which outlive it. With dist.sync_batch_norm the net's statistics span the
  /// processes from now on. Throws UserError.
  StepExchange(const LearnerSpec& spec, std::vector<Pass>& passes, nets::Net& net);
  ~StepExchange();

  /// A micro-batch of `iteration` begins. With the `last` one of an iteration gradients are averaged over the
  /// processes, and the flags travel.
  void begin_batch(std::uint64_t iteration, const Slab& slab, bool last, const StepFlags& flags);
  /// Before the forward of a pass.
  void begin(std::size_t pass);
  /// What the mean over the micro-batch's own rows is divided by, so that all that is added up, over micro-batches and
  /// processes, is the mean over the iteration's rows.
  double divisor() const;
  /// Adds the gradients of `loss`, which is divided, to those of the pass. `scalars` (F) f32, divided likewise: to be
  /// averaged like the loss.
  void backward(std::size_t pass, const at::Tensor& loss, const at::Tensor& scalars);

  enum class Zeros { sent, not_needed, too_late };
  /// In place of an iteration's last micro-batch, or after that has thrown: this process has no gradients. Not needed:
  /// it is alone, and there are none. Too late: the exchange had begun.
  Zeros contribute_zeros(std::uint64_t iteration, const Slab& slab, const StepFlags& flags);

  /// After the last backward: Pass::sums, averaged; undefined where the iteration was without the pass.
  at::Tensor scalars(std::size_t pass) const;
  /// What stats() is made of; undefined where that takes nothing.
  at::Tensor flags() const;
  /// Sums of the flags(), which have been read, and how long the exchange took; the rest is empty.
  StepStats stats(std::span<const double> flags) const;

 private:
  bool alone() const { return parts_.empty(); }

  std::vector<Pass>& passes_;
  const double accum_;
  const bool has_gradients_;
  std::vector<std::unique_ptr<DataParallel>> parts_;  // one for each pass; none where this process trains alone, which
                                                      // is so spared the copies into buckets
  std::size_t carrier_ = 0;                           // the first pass that every iteration has: the flags go with it
  // Of the micro-batch under way:
  std::uint64_t iteration_ = 0, seq_ = 0;
  bool first_ = false, last_ = false;
  double share_ = 1;
  StepFlags flags_;
  std::size_t done_ = 0;    // passes
  bool under_way_ = false;  // gradients of a pass are on their way
};

}  // namespace flowtrain
