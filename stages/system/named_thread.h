#pragma once
// Threads of the engine have names (seen in top -H, gdb and perf) and owners that join them.

#include <pthread.h>

#include <atomic>
#include <string>
#include <thread>

namespace flowtrain {

/// The number of threads of named_thread() that run now, for tests of leaks.
inline std::atomic<int> named_threads{0};

/// Starts a thread called `name` (Linux keeps at most 15 characters). Joins when destroyed. Throws std::system_error if
/// the system has no room for another one.
template <class Body>
std::jthread named_thread(const std::string& name, Body body) {
  return std::jthread([name, body = std::move(body)]() mutable {
    struct Counted {
      Counted() { ++named_threads; }
      ~Counted() { --named_threads; }
    } counted;
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
    body();
  });
}

}  // namespace flowtrain
