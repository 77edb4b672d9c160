#pragma once
// Turns the gradients, values and flags of a step into those of all processes.

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

/// A learner's exchange. A process that trains alone also has one, which leaves everything as it is. A micro-batch:
/// begin_batch(), then for each pass that is due begin(), forward, backward().
class StepExchange {
 public:
  /// Makes the exchange of the spec's group for `passes`, which outlive it. With dist.sync_batch_norm the net's
  /// statistics span the processes from now on. Throws UserError.
  StepExchange(const LearnerSpec& spec, std::vector<Pass>& passes, nets::Net& net);
  ~StepExchange();

  /// Begins a micro-batch of `iteration`. The iteration's `last` one averages gradients, and carries the flags.
  void begin_batch(std::uint64_t iteration, const Slab& slab, bool last, const StepFlags& flags);
  /// Comes before the forward of a pass.
  void begin(std::size_t pass);
  /// Returns the divisor of the mean over the micro-batch's own rows: the sum over micro-batches and processes is then
  /// the mean over the iteration's rows.
  double divisor() const;
  /// Adds the gradients of the divided `loss` to those of the pass. `scalars` (F) are treated like the loss.
  void backward(std::size_t pass, const at::Tensor& loss, const at::Tensor& scalars);

  enum class Zeros { sent, not_needed, too_late };
  /// Replaces an iteration's last micro-batch, or follows one that has thrown: this process has no gradients. Returns
  /// not needed if the process is alone, too late if the exchange had begun.
  Zeros contribute_zeros(std::uint64_t iteration, const Slab& slab, const StepFlags& flags);

  /// Returns the averaged Pass::sums after the last backward; undefined if the iteration was without the pass.
  at::Tensor scalars(std::size_t pass) const;
  /// Returns the input of stats(); undefined if that needs none.
  at::Tensor flags() const;
  /// Returns sums of the flags(), which have been read, and the duration of the exchange; the rest is empty.
  StepStats stats(std::span<const double> flags) const;

 private:
  bool alone() const { return parts_.empty(); }

  std::vector<Pass>& passes_;
  const double accum_;
  const bool has_gradients_;
  // Each pass has one; a process that trains alone has none, which saves the copies into buckets.
  std::vector<std::unique_ptr<DataParallel>> parts_;
  std::size_t carrier_ = 0;  // first pass that every iteration has: it carries the flags
  // State of the current micro-batch:
  std::uint64_t iteration_ = 0, seq_ = 0;
  bool first_ = false, last_ = false;
  double share_ = 1;
  StepFlags flags_;
  std::size_t done_ = 0;    // passes that are done
  bool under_way_ = false;  // gradients of a pass are on their way
};

}  // namespace flowtrain
