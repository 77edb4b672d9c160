#pragma once
// How busy a stage was: a sum of nanoseconds over its threads, cheap enough to be always on.

#include <atomic>
#include <chrono>
#include <cstdint>

#include "stages/flight/flight.h"

namespace flowtrain {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class StageClock {
 public:
  /// Adds the time between construction and destruction, which the flight recorder is told of as well.
  class Scope {
   public:
    Scope(StageClock& clock, const FlightPlace& place)
        : clock_(clock), start_(std::chrono::steady_clock::now()), flight_(place, start_) {}
    ~Scope() {
      const auto end = std::chrono::steady_clock::now();
      flight_.end(end);
      const auto spent = end - start_;
      clock_.busy_ns_.fetch_add(std::chrono::nanoseconds(spent).count(), std::memory_order_relaxed);
    }
    Scope(const Scope&) = delete;

   private:
    StageClock& clock_;
    std::chrono::steady_clock::time_point start_;
    FlightSpan flight_;
  };

  double busy_s() const { return static_cast<double>(busy_ns_.load(std::memory_order_relaxed)) * 1e-9; }

 private:
  std::atomic<std::int64_t> busy_ns_{0};
};

}  // namespace flowtrain
