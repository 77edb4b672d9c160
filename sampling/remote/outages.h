#pragma once
// What a user is told of servers that fail for a while.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "sampling/core/mutex.h"

namespace flowtrain {

/// Counts the requests that are repeated, and warns of the first one, then of another one once a minute at most: a
/// server that is away fails hundreds. Any thread.
class Outages {
 public:
  /// A request for `url` failed and will be repeated.
  void add(const std::string& url, const std::string& why);
  /// Requests that were repeated.
  std::uint64_t retries() const { return retries_; }

 private:
  std::atomic<std::uint64_t> retries_{0};
  Mutex mutex_;
  std::chrono::steady_clock::time_point silent_until_ FT_GUARDED_BY(mutex_) = {};
};

}  // namespace flowtrain
