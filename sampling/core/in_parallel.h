#pragma once
// Does numbered pieces of work on several threads.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace flowtrain {

/// Calls work(0) … work(count - 1), on at most `threads` threads, of which this one is one. Throws the error of the
/// least number that fails: it is the same each time.
template <class Work>
void in_parallel(std::size_t count, std::size_t threads, const Work& work) {
  std::vector<std::exception_ptr> failures(count);
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    for (std::size_t i; (i = next++) < count;) {
      try {
        work(i);
      } catch (...) {
        failures[i] = std::current_exception();
        next = count;  // all before it are being done
      }
    }
  };
  {
    std::vector<std::jthread> others(std::min(std::max<std::size_t>(count, 1), std::max<std::size_t>(threads, 1)) - 1);
    for (auto& thread : others) thread = std::jthread(take);
    take();
  }
  for (const auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace flowtrain
