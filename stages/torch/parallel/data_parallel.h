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

/// The times at which the buckets of one iteration left and came back. Backward and the process group's threads fill
/// it.
class ExchangeTimes {
 public:
  struct Summary {
    double busy_s = 0;     ///< time with at least one bucket on its way
    double exposed_s = 0;  ///< part of that after the last gradient was computed, which backward could not hide
  };

  void begin();
  /// Records that a bucket leaves, the last one or not; returns its number for done().
  std::size_t launched(bool last);
  void done(std::size_t bucket);
  Summary summary() const;
  /// Returns whether the last bucket has left, which happens once all gradients are there.
  bool complete() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Span {
    Clock::time_point from, to;
  };
  mutable Mutex mutex_;
  std::vector<Span> buckets_ FT_GUARDED_BY(mutex_);  // ordered by departure
  bool complete_ FT_GUARDED_BY(mutex_) = false;
};

/// A process that is stopped, swapped out or starved of its CPU while it waits makes the others wait, but its own clock
/// shows a wait for them. A thread that wakes every few milliseconds detects this: it wakes late.
class StallMeter {
 public:
  StallMeter();

  /// Marks the begin and the end of waiting. Stalls count only in between.
  void wait_begins() { waiting_ = true; }
  void wait_ends() { waiting_ = false; }
  /// Returns the stalled time, up to `most_s`; the rest is kept for the next call.
  double take(double most_s);

 private:
  void watch(const std::stop_token& stop);

  std::atomic<bool> waiting_ = false;
  Mutex mutex_;
  double stalled_s_ FT_GUARDED_BY(mutex_) = 0;
  std::jthread thread_;  // declared last: it uses all of the above
};

/// Averages a bucket over the processes, as `wire` type; a bucket of another type is cast before and after (like
/// PyTorch's fp16_compress and bf16_compress hooks). The bucket with `exact` among its parameters travels unchanged.
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

/// The options of the exchange of gradients.
struct DataParallelOptions {
  double bucket_mb = 25;                    ///< size of a bucket
  double first_bucket_mb = 1;               ///< size of the first, which leaves early
  bool find_unused = false;                 ///< an iteration's loss may leave out parameters
  bool only_own = false;                    ///< backward also reaches others' parameters, which get no gradients
  bool no_gradients = false;                ///< the exchange has scalars and flags only, and there is no backward
  std::optional<at::ScalarType> wire = {};  ///< gradients travel as kHalf or kBFloat16; empty: in their own type
};

/// Returns the options of [dist].
DataParallelOptions parallel_options(const Settings& dist);

/// Keeps the parameters of all processes equal. Use per micro-batch: begin(), forward, backward(); then stats(). The
/// buckets carry one more tensor beside gradients: the reported values of the loss, and everyone's flags. All processes
/// know both when backward returns, without a collective of their own.
class DataParallel {
 public:
  /// `scalars` counts those of backward(). Throws UserError(distributed) if another process has other parameters.
  DataParallel(TorchGroup& group, const nets::NamedTensors& parameters, std::int64_t scalars,
               const DataParallelOptions& options);
  ~DataParallel();

  /// Comes before forward. `last`: gradients are averaged in this backward; in earlier ones they only add up.
  void begin(bool first, bool last);
  /// Computes backward of a micro-batch's part of the iteration's loss, a mean over its own rows divided by the number
  /// of micro-batches; `share` is the weight of these rows among all (Slab::share). `scalars` (F) are averaged like the
  /// loss, as f32. Pass::one explains `one`. Throws UserError(usage) if a parameter got no gradient against the
  /// options.
  void backward(const at::Tensor& loss, const at::Tensor& scalars, double share, const StepFlags& flags,
                const at::Tensor& one = {});
  /// Sends zeros and the flags in place of the last backward(), whether begin() was called or not.
  void contribute_zeros(double share, const StepFlags& flags);
  /// Returns means of the scalars over all rows of the iteration, (F) on their device, after the last backward.
  at::Tensor scalars() const;
  /// Returns means of the flags over the processes, f32 on the device of the scalars, for stats().
  at::Tensor flags() const;
  /// Returns sums of the flags(), which have been read, and the duration of the exchange, after the last backward; the
  /// loss and its parts are left out.
  StepStats stats(std::span<const double> flags);

 private:
  // Returns the flags in the form of the control tensor.
  at::Tensor marked(const StepFlags& flags) const;
  // Runs a backward without rows first. The reducer makes its buckets anew once, after its first backward, and the sums
  // of three or more processes depend on places in a bucket. So a resumed run's first iteration has unchanged buckets.
  void settle_buckets();
  // Throws for parameters that lack a gradient, whose bucket will not leave: there is no average.
  [[noreturn]] void throw_unused() const;

  TorchGroup& group_;
  nets::NamedTensors parameters_;
  at::Tensor control_;  // f32 zeros; its gradient is the scalars and the flags
  bool only_own_, find_unused_, no_gradients_, last_ = false, begun_ = false;
  std::vector<at::Tensor> own_;  // parameters and control tensor, if the net has others
  ExchangeTimes times_;
  StallMeter stalls_;
  std::unique_ptr<c10d::Reducer> reducer_;  // declared last: it uses the two before
};

}  // namespace flowtrain
