#pragma once
// Whether this process stood still while it waited for the others.

#include <atomic>
#include <stop_token>
#include <thread>

#include "sampling/core/mutex.h"

namespace flowtrain {

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

}  // namespace flowtrain
