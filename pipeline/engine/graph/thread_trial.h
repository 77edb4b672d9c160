#pragma once
// Measures the contribution of a stage's thread while the stage works.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

#include "stages/trace/clock.h"

namespace flowtrain {

/// Compares the rate of a stage's threads with their rate while one of them pauses: a virtual slow-down, after the
/// virtual speed-ups of Coz (Curtsinger and Berger 2015). Threads that share nothing lose one thread's part; threads
/// that wait for one another (a lock, a full disk, busy cores) lose less. It tries only while all threads are busy,
/// four times soon, and later so seldom that the stage loses 0.25 % of its rate.
class ThreadTrial {
 public:
  /// Every thread calls this after each piece of its work; an occasional call pauses, until `stopping` is set at most.
  void after_piece(const StageClock& clock, unsigned threads, const std::atomic<bool>& stopping);
  /// Returns the rate with one thread less, as a share of the rate with all. It is empty at first and with a single
  /// thread.
  std::optional<double> rate_without_one() const;
  /// Begins anew, with other threads, while no thread works.
  void restart();

 private:
  using Clock = std::chrono::steady_clock;
  struct Mark {
    Clock::time_point at;
    StageTimes times;
  };
  struct Work {
    double busy_s = 0, samples = 0;
    void add(const StageTimes& more) { busy_s += more.busy_s, samples += static_cast<double>(more.samples); }
    double per_sample_s() const { return busy_s / samples; }
  };

  void try_without_one(const StageClock& clock, unsigned threads, const std::atomic<bool>& stopping);
  void publish(unsigned threads);

  std::atomic<Clock::rep> next_{0};  // time of the next trial, by the steady clock
  std::atomic<bool> trying_{false};  // the thread that sets it owns the members below
  std::optional<Mark> since_;        // start of the time in which all threads are at work
  Work with_all_, without_one_;
  unsigned trials_ = 0;
  std::atomic<double> share_{std::numeric_limits<double>::quiet_NaN()};
};

}  // namespace flowtrain
