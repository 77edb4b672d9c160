#pragma once
// Threads of the engine have names (seen in top -H, gdb and perf) and owners that join them.

#include <pthread.h>

#include <string>
#include <thread>

namespace flowtrain {

/// Starts a thread called `name` (at most 15 characters are kept by Linux). Joins when destroyed.
template <class Body>
std::jthread named_thread(const std::string& name, Body body) {
  return std::jthread([name, body = std::move(body)]() mutable {
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
    body();
  });
}

}  // namespace flowtrain
