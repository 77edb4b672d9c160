#pragma once
// What a thread of a stage is worth, measured while the stage works.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

#include "stages/trace/clock.h"

namespace flowtrain {

/// Compares the rate of a stage's threads with their rate while one of them pauses: a virtual slow-down, after the
/// virtual speed-ups of Coz (Curtsinger and Berger 2015). Threads that share nothing lose one thread's part; threads
/// that wait for one another (a lock, a full disk, busy cores) lose less. Tries only while all threads are busy, four
/// times soon, later so seldom that the stage loses 0.25 % of its rate.
class ThreadTrial {
 public:
  /// Every thread calls this after each piece of its work; one call now and then pauses, and ends soon after `stopping`
  /// is set.
  void after_piece(const StageClock& clock, unsigned threads, const std::atomic<bool>& stopping);
  /// The rate with one thread less, as a share of the rate with all. Nothing: not known yet, or a single thread.
  std::optional<double> rate_without_one() const;
  /// Begins anew, with other threads. While no thread works.
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

  std::atomic<Clock::rep> next_{0};  // when to try again, of the steady clock
  std::atomic<bool> trying_{false};  // whoever sets it has the members below
  std::optional<Mark> since_;        // all threads are at work since then
  Work with_all_, without_one_;
  unsigned trials_ = 0;
  std::atomic<double> share_{std::numeric_limits<double>::quiet_NaN()};
};

}  // namespace flowtrain
