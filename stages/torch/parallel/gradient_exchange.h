#pragma once
// How a bucket of gradients travels, and how much of that the backward pass hides.

#include <torch/csrc/distributed/c10d/comm.hpp>

#include <chrono>
#include <vector>

#include "sampling/core/mutex.h"
#include "stages/torch/parallel/stall_meter.h"

namespace flowtrain {

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

}  // namespace flowtrain
