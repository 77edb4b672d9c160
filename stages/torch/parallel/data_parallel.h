#pragma once
// Data-parallel gradients: LibTorch's own Reducer (the engine below torch.nn.parallel.DistributedDataParallel) averages
// them over the processes in buckets, while backward still computes the next ones.

#include <torch/csrc/distributed/c10d/comm.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "nets/tensors.h"
#include "sampling/core/mutex.h"
#include "stages/model/compute.h"
#include "stages/torch/parallel/torch_group.h"

namespace c10d {
class Reducer;
}

namespace flowtrain {

class Settings;

/// When the buckets of one iteration left and came back. Filled by the backward thread and by those of the process
/// group.
class ExchangeTimes {
 public:
  struct Summary {
    double busy_s = 0;     ///< at least one bucket was on its way
    double exposed_s = 0;  ///< of that, after the last gradient was computed: what backward could not hide
  };

  void begin();
  /// A bucket leaves, of all the last one or not; its number for done().
  std::size_t launched(bool last);
  void done(std::size_t bucket);
  Summary summary() const;
  /// Whether the last bucket has left: it does when all gradients are there.
  bool complete() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Span {
    Clock::time_point from, to;
  };
  mutable Mutex mutex_;
  std::vector<Span> buckets_ FT_GUARDED_BY(mutex_);  // in the order in which they left
  bool complete_ FT_GUARDED_BY(mutex_) = false;
};

/// A process that is stopped, swapped out or starved of its CPU while it waits makes the others wait, and looks to its
/// own clock as if they had made it wait. A thread that wakes every few milliseconds sees the difference: it wakes
/// late.
class StallMeter {
 public:
  StallMeter();

  /// Waiting begins, or ends. Only then stalls count.
  void wait_begins() { waiting_ = true; }
  void wait_ends() { waiting_ = false; }
  /// The time stood still, up to `most_s`; what is left over is there the next time.
  double take(double most_s);

 private:
  void watch(const std::stop_token& stop);

  std::atomic<bool> waiting_ = false;
  Mutex mutex_;
  double stalled_s_ FT_GUARDED_BY(mutex_) = 0;
  std::jthread thread_;  // last: it uses all of the above
};

/// Averages a bucket over the processes, as `wire` type; where that is not the bucket's own, it is cast before and
/// after (what PyTorch's fp16_compress and bf16_compress hooks do). The bucket with `exact` among its parameters always
/// travels as it is.
class GradientExchange : public c10d::CppCommHookInterface<c10::intrusive_ptr<c10d::ProcessGroup>> {
 public:
  GradientExchange(const c10::intrusive_ptr<c10d::ProcessGroup>& processes, std::optional<at::ScalarType> wire,
                   at::Tensor exact, ExchangeTimes& times, StallMeter& stalls)
      : CppCommHookInterface(processes), wire_(wire), exact_(std::move(exact)), times_(times), stalls_(stalls) {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override;

 private:
  std::optional<at::ScalarType> wire_;
  at::Tensor exact_;
  ExchangeTimes& times_;
  StallMeter& stalls_;
};

/// How gradients travel.
struct DataParallelOptions {
  double bucket_mb = 25;                    ///< of a bucket
  double first_bucket_mb = 1;               ///< of the first, which is to leave early
  bool find_unused = false;                 ///< parameters may be left out of an iteration's loss
  bool only_own = false;                    ///< backward reaches others' parameters, too, which get no gradients
  bool no_gradients = false;                ///< only the scalars and the flags travel, and nothing is computed backward
  std::optional<at::ScalarType> wire = {};  ///< gradients travel as kHalf or kBFloat16; none: as they are
};

/// Those of [dist].
DataParallelOptions parallel_options(const Settings& dist);

/// Keeps the parameters of all processes equal. Use per micro-batch: begin(), forward, backward(); then stats().
/// Besides gradients, the buckets carry one more tensor: what is reported of the loss, and everyone's flags. All
/// processes know both when backward returns, without a collective of their own.
class DataParallel {
 public:
  /// `scalars`: how many of them backward() gets. Throws UserError(distributed) where another process has other
  /// parameters.
  DataParallel(TorchGroup& group, const nets::NamedTensors& parameters, std::int64_t scalars,
               const DataParallelOptions& options);
  ~DataParallel();

  /// Before forward. `last`: gradients are averaged in this backward; in those before, they only add up.
  void begin(bool first, bool last);
  /// Backward of a micro-batch's part of the iteration's loss, a mean over its own rows by the number of micro-batches;
  /// `share` is what these rows weigh among all (Slab::share). `scalars` (F) f32: to be averaged like the loss. `one`:
  /// see Pass::one. Throws UserError(usage) where a parameter got no gradient, and the options allow for none.
  void backward(const at::Tensor& loss, const at::Tensor& scalars, double share, const StepFlags& flags,
                const at::Tensor& one = {});
  /// In place of the last backward(), whether begin() was called or not: zeros, and the flags.
  void contribute_zeros(double share, const StepFlags& flags);
  /// After the last backward: means of the scalars over all rows of the iteration, (F) on their device.
  at::Tensor scalars() const;
  /// After the last backward: means of the flags over the processes, f32 on the device of the scalars, for stats().
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
  at::Tensor control_;  // f32, all zero; its gradient is the scalars and the flags
  bool only_own_, find_unused_, no_gradients_, last_ = false, begun_ = false;
  std::vector<at::Tensor> own_;  // parameters and control tensor, where there are others
  ExchangeTimes times_;
  StallMeter stalls_;
  std::unique_ptr<c10d::Reducer> reducer_;  // last: it uses the two before
};

}  // namespace flowtrain
