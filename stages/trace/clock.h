#pragma once
// Measures the load of a stage: sums over its threads, cheap enough to be always on.

#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>

#include "stages/flight/flight.h"

namespace flowtrain {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The work of a stage since the start, summed over its threads.
struct StageTimes {
  double busy_s = 0;          ///< time at work, including waits within the work
  std::uint64_t samples = 0;  ///< number of samples that it handled
  std::uint64_t pieces = 0;   ///< pieces of work that it began, usually parts of a batch
  /// Times of a few pieces of work, and the part that was computed. The rest are waits for a disk, a lock or a core.
  double timed_s = 0, cpu_s = 0;

  StageTimes operator-(const StageTimes& earlier) const {
    return {busy_s - earlier.busy_s, samples - earlier.samples, pieces - earlier.pieces, timed_s - earlier.timed_s,
            cpu_s - earlier.cpu_s};
  }
  /// Returns the share of its work that its threads computed, 0 … 1; 1 if not known.
  double cpu_share() const { return timed_s > 0 ? cpu_s / timed_s : 1; }
};

class StageClock {
 public:
  /// Adds the time between construction and destruction, and reports it to the flight recorder.
  class Scope {
   public:
    Scope(StageClock& clock, std::size_t samples, const FlightPlace& place)
        : clock_(clock),
          samples_(samples),
          timed_(clock.pieces_.fetch_add(1, std::memory_order_relaxed) % pieces_per_timed == 0),
          cpu_ns_(timed_ ? thread_cpu_ns() : 0),
          start_(std::chrono::steady_clock::now()),
          flight_(place, start_) {}
    ~Scope() {
      const auto end = std::chrono::steady_clock::now();
      flight_.end(end);
      const auto spent = std::chrono::nanoseconds(end - start_).count();
      clock_.busy_ns_.fetch_add(spent, std::memory_order_relaxed);
      clock_.samples_.fetch_add(samples_, std::memory_order_relaxed);
      if (!timed_) return;
      clock_.timed_ns_.fetch_add(spent, std::memory_order_relaxed);
      clock_.cpu_ns_.fetch_add(thread_cpu_ns() - cpu_ns_, std::memory_order_relaxed);
    }
    Scope(const Scope&) = delete;

   private:
    StageClock& clock_;
    const std::size_t samples_;
    const bool timed_;
    const std::int64_t cpu_ns_;
    const std::chrono::steady_clock::time_point start_;
    FlightSpan flight_;
  };

  StageTimes times() const {
    return {seconds(busy_ns_), samples_.load(std::memory_order_relaxed), pieces_.load(std::memory_order_relaxed),
            seconds(timed_ns_), seconds(cpu_ns_)};
  }

 private:
  // The processor's clock is a system call, unlike the steady one, so only one piece in 16 is timed.
  static constexpr std::uint64_t pieces_per_timed = 16;

  static std::int64_t thread_cpu_ns() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }
  static double seconds(const std::atomic<std::int64_t>& ns) {
    return static_cast<double>(ns.load(std::memory_order_relaxed)) * 1e-9;
  }

  std::atomic<std::int64_t> busy_ns_{0}, timed_ns_{0}, cpu_ns_{0};
  std::atomic<std::uint64_t> samples_{0}, pieces_{0};
};

}  // namespace flowtrain
