#pragma once
// Runs the same work in several threads at once.

#include <algorithm>
#include <barrier>
#include <chrono>
#include <exception>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "pipeline/tools/plugin_kit/report.h"
#include "sampling/core/mutex.h"

namespace flowtrain::plugin_kit {

inline constexpr unsigned hammer_threads = 8;

/// Calls `work(i)` for each i < `count`, in a different order in each of 8 threads and in each round: at least one
/// round, and more for half a second. `make_work()` makes the function in its thread; it returns the fault, or nothing.
/// Throws the first fault as a CheckFailure with `hint`.
template <class MakeWork>
void hammer(std::size_t count, const std::string& hint, const MakeWork& make_work) {
  using Clock = std::chrono::steady_clock;
  std::barrier start(hammer_threads);
  Mutex mutex;
  std::string wrong;
  const auto body = [&](unsigned number) {
    std::vector<std::size_t> order(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = i;
    std::mt19937 random(number);
    std::string found;
    auto work = [&, wrong_at = make_work()](std::size_t i) mutable -> std::optional<std::string> {
      try {
        return wrong_at(i);
      } catch (const std::exception& error) {
        return std::string("an exception came out of a call: ") + error.what();
      }
    };
    start.arrive_and_wait();
    const auto end = Clock::now() + std::chrono::milliseconds(500);
    for (int round = 0; found.empty() && (round < 1 || Clock::now() < end); ++round) {
      std::shuffle(order.begin(), order.end(), random);
      for (const std::size_t i : order)
        if (const std::optional<std::string> is_wrong = work(i); is_wrong && found.empty()) found = *is_wrong;
    }
    const MutexLock lock(mutex);
    if (wrong.empty()) wrong = found;
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned number = 0; number < hammer_threads; ++number) threads.emplace_back(body, number);
  }
  if (!wrong.empty()) throw CheckFailure{wrong, hint};
}

}  // namespace flowtrain::plugin_kit
