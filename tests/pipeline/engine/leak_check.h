#pragma once
// Counts the threads, open files and memory of a process; a watchdog ends tests that hang.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "stages/system/named_thread.h"

namespace flowtrain::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;  // slow, and freed memory is kept: fewer rounds, and points are not counted
#else
inline constexpr bool sanitized = false;
#endif

inline std::ptrdiff_t entries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

/// Threads of the process, oneTBB's workers among them.
inline std::ptrdiff_t threads() { return entries("/proc/self/task"); }

/// Threads that lines, displays and snapshots own.
inline std::ptrdiff_t own_threads() { return named_threads; }

/// How many threads there may be but own ones, once a Scheduler(workers) is made: oneTBB starts its own when there is
/// work for them, which may be late, and keeps them. To be called before. With two lines one more than the scheduler's
/// limit was seen, in 1,200 runs as in 19,200. The likely reason, from reading oneTBB 2021.8 (market.cpp,
/// adjust_demand; not seen in a program without lines): it tells its pool what arenas want in order for each, but not
/// between them, so that one's more may overtake another's less. Then each of the `lines` may get what it wants.
inline std::ptrdiff_t most_threads(unsigned workers, unsigned lines = 1) {
  std::thread([] {}).join();  // a sanitizer starts one of its own beside the first: it is to be counted now
  return threads() + std::max(std::thread::hardware_concurrency() - 1, workers * lines);
}

/// What `count` gives once it is at most `most`, or after a minute: the kernel still lists a thread for a moment
/// after it was joined.
template <class Count>
std::ptrdiff_t settled(Count count, std::ptrdiff_t most) {
  std::ptrdiff_t now = count();
  for (int i = 0; now > most && i < 6000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    now = count();
  }
  return now;
}

/// Open files; the one that counts them included.
inline std::ptrdiff_t open_files() { return entries("/proc/self/fd"); }

inline std::size_t resident_kb() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmRSS:") {
      std::size_t kb = 0;
      status >> kb;
      return kb;
    }
  return 0;
}

/// Ends the process, with a core to look into, when it is not destroyed within `seconds`.
class Watchdog {
 public:
  explicit Watchdog(unsigned seconds) {
    ::signal(SIGALRM, [](int) {
      constexpr char text[] = "watchdog: this test hangs\n";
      (void)!::write(STDERR_FILENO, text, sizeof text - 1);
      std::abort();
    });
    ::alarm(seconds);
  }
  ~Watchdog() {
    ::alarm(0);
    ::signal(SIGALRM, SIG_DFL);
  }
  Watchdog(const Watchdog&) = delete;
};

}  // namespace flowtrain::testing
