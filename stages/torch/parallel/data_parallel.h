#pragma once
// Data-parallel gradients: LibTorch's own Reducer (the engine below torch.nn.parallel.DistributedDataParallel) averages
// them over the processes in buckets, while backward still computes the next ones.

#include <memory>
#include <span>

#include "nets/tensors.h"
#include "stages/compute.h"
#include "stages/torch/parallel/gradient_exchange.h"
#include "stages/torch/parallel/torch_group.h"

namespace c10d {
class Reducer;
}

namespace flowtrain {

class Settings;

/// How gradients travel.
struct DataParallelOptions {
  double bucket_mb = 25;                    ///< of a bucket
  double first_bucket_mb = 1;               ///< of the first, which is to leave early
  bool find_unused = false;                 ///< parameters may be left out of an iteration's loss
  bool only_own = false;                    ///< backward reaches others' parameters, too, which get no gradients
  std::optional<at::ScalarType> wire = {};  ///< gradients travel as kHalf or kBFloat16; none: as they are
};

/// Those of [dist].
DataParallelOptions parallel_options(const Settings& dist);

/// Keeps the parameters of all processes equal. Use per micro-batch: begin(), forward, backward(); then stats().
/// Besides gradients, the buckets carry one more tensor: what is reported of the loss, and everyone's flags. All
/// processes know both when backward returns, without a collective of their own.
class DataParallel {
 public:
  /// `values`: how many backward() gets. Throws UserError(distributed) where another process has other parameters.
  DataParallel(TorchGroup& group, const nets::NamedTensors& parameters, std::int64_t scalars,
               const DataParallelOptions& options);
  ~DataParallel();

  /// Before forward. `last`: gradients are averaged in this backward; in those before, they only add up.
  void begin(bool first, bool last);
  /// Backward of a micro-batch's part of the iteration's loss, a mean over its own rows by the number of micro-batches;
  /// `share` is what these rows weigh among all (Slab::share). `values` (F) f32: to be averaged like the loss. Throws
  /// UserError(usage) where a parameter got no gradient, and the options allow for none.
  void backward(const at::Tensor& loss, const at::Tensor& scalars, double share, const StepFlags& flags);
  /// In place of the last backward(), whether begin() was called or not: zeros, and the flags.
  void contribute_zeros(double share, const StepFlags& flags);
  /// After the last backward: means of the values over all rows of the iteration, (F) where they were.
  at::Tensor scalars() const;
  /// After the last backward: means of the flags over the processes, f32 where the values are, for stats().
  at::Tensor flags() const;
  /// After the last backward, but the loss and its parts: sums of the flags(), which have been read, and how long the
  /// exchange took.
  StepStats stats(std::span<const double> flags);

 private:
  // The flags as they go into the control tensor.
  at::Tensor marked(const StepFlags& flags) const;
  // The reducer makes its buckets anew once, after its first backward, and what three or more processes' values sum up
  // to depends on their places in a bucket. That backward is one without rows, so that a resumed run's first iteration
  // has the buckets that it would have had.
  void settle_buckets();
  // Parameters that lack a gradient, whose bucket will not leave: there is no average.
  [[noreturn]] void throw_unused() const;

  TorchGroup& group_;
  nets::NamedTensors parameters_;
  at::Tensor control_;  // f32, all zero; its gradient is the values and the flags
  bool only_own_, find_unused_, last_ = false, begun_ = false;
  std::vector<at::Tensor> own_;  // parameters and control tensor, where there are others
  ExchangeTimes times_;
  StallMeter stalls_;
  std::unique_ptr<c10d::Reducer> reducer_;  // last: it uses the two before
};

}  // namespace flowtrain
