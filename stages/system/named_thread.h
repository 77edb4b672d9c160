#pragma once
// Threads of the engine have names (seen in top -H, gdb and perf) and owners that join them.

#include <pthread.h>

#include <atomic>
#include <string>
#include <thread>

namespace flowtrain {

/// How many threads of named_thread() run now: what a test of leaks counts.
inline std::atomic<int> named_threads{0};

/// Starts a thread called `name` (at most 15 characters are kept by Linux). Joins when destroyed. Throws
/// std::system_error where the system has no room for another one.
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
