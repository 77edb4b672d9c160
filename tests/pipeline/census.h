#pragma once
// What a process holds: threads, open files, memory; and a watchdog for what must not hang.

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace flowtrain::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;  // slow, and freed memory is kept: fewer rounds, and points are not counted
#else
inline constexpr bool kSanitized = false;
#endif

inline std::ptrdiff_t entries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

/// Threads of the process, oneTBB's workers among them.
inline std::ptrdiff_t threads() { return entries("/proc/self/task"); }

/// Threads that lines, displays and snapshots own.
inline int own_threads() {
  int count = 0;
  for (auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    count += name.starts_with("ft-");
  }
  return count;
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
