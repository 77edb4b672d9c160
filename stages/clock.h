#pragma once
// How busy a stage was: a sum of nanoseconds over its threads, cheap enough to be always on.

#include <atomic>
#include <chrono>
#include <cstdint>

namespace flowtrain {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class StageClock {
 public:
  /// Adds the time between construction and destruction, and one piece of work.
  class Scope {
   public:
    explicit Scope(StageClock& clock) : clock_(clock), start_(std::chrono::steady_clock::now()) {}
    ~Scope() {
      const auto spent = std::chrono::steady_clock::now() - start_;
      clock_.busy_ns_.fetch_add(std::chrono::nanoseconds(spent).count(), std::memory_order_relaxed);
    }
    Scope(const Scope&) = delete;

   private:
    StageClock& clock_;
    std::chrono::steady_clock::time_point start_;
  };

  double busy_s() const { return static_cast<double>(busy_ns_.load(std::memory_order_relaxed)) * 1e-9; }

 private:
  std::atomic<std::int64_t> busy_ns_{0};
};

}  // namespace flowtrain
