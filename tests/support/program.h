#pragma once
// Runs the built program as a user does: a process of its own, in a folder of its own, with a limit on its time.

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/paths.h"

namespace flowtrain {

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns how many times `text` holds `part`.
inline std::size_t times_in(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

/// The end of a process. Either `code` or `signal` is set; the other is -1 or 0.
struct Outcome {
  int code = -1;
  int signal = 0;
  bool timed_out = false;  ///< it was killed because its time was over
  std::string out, err;
};

inline std::ostream& operator<<(std::ostream& stream, const Outcome& outcome) {
  return stream << "exit code " << outcome.code << ", signal " << outcome.signal
                << (outcome.timed_out ? ", timed out" : "") << "\nstdout: " << outcome.out
                << "\nstderr: " << outcome.err;
}

using Words = std::vector<std::string>;

inline Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// The built program, or the one that FLOWTRAIN_TEST_PROGRAM names: tests may run where they were not built.
inline std::filesystem::path tested_program() {
  const char* named = std::getenv("FLOWTRAIN_TEST_PROGRAM");
  return named ? named : test::build_path("bin/flowtrain");
}

struct ProcessOptions {
  std::filesystem::path folder;  ///< the working folder; what the program prints is kept there, too, until it has ended
  std::vector<std::pair<std::string, std::string>> environment = {};  ///< added to that of the test
  rlim_t file_bytes = RLIM_INFINITY;                                  ///< writing beyond this size fails with EFBIG
  std::string network = {};           ///< a network namespace that `ip netns` made; empty: that of the test
  bool bound_by_permissions = false;  ///< permissions hold for it even where the tests run as root
  std::filesystem::path program = tested_program();
  std::filesystem::path input = "/dev/null";  ///< standard input: a file or a pipe
};

/// The program in the background; killed by the destructor where it still runs.
class Process {
 public:
  Process(const Words& words, const ProcessOptions& process_options) {
    static int number = 0;
    const std::string stem = ".process-" + std::to_string(++number);
    out_ = process_options.folder / (stem + ".out");
    err_ = process_options.folder / (stem + ".err");
    Words all = words;
    all.insert(all.begin(), process_options.program.string());
    std::vector<char*> arguments;
    for (auto& word : all) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    id_ = fork();
    if (id_ < 0) throw std::runtime_error("fork failed");
    if (id_ == 0) become(arguments, process_options);
  }
  ~Process() {
    if (id_ <= 0) return;
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return id_; }
  void send(int signal) const { ::kill(id_, signal); }

  /// Sends `signal` again and again until the program has ended. Signals that come close together count as one, and how
  /// close they come depends on the machine.
  void send_until_ended(int signal) {
    do {
      send(signal);
    } while (!wait_until([&] { return ended(); }, 0.3));
  }

  /// Waits until stderr, or a file that the program writes, holds `text`, as often as `times` says. False where the
  /// process ends, or the time is over, before.
  bool wait_for_text(const std::string& text, const std::filesystem::path& file = {}, double limit_s = 600,
                     std::size_t times = 1) {
    auto found = [&] { return times_in(read_text(file.empty() ? err_ : file), text) >= times; };
    return wait_until([&] { return found() || ended(); }, limit_s) && found();
  }

  /// Waits for a condition.
  template <class Condition>
  bool wait_for(Condition condition, double limit_s = 600) {
    bool met = false;
    return wait_until([&] { return (met = condition()) || ended(); }, limit_s) && met;
  }

  Outcome wait(double limit_s = 600) {
    Outcome outcome;
    if (!wait_until([&] { return ended(); }, limit_s)) {
      outcome.timed_out = true;
      send(SIGKILL);
      ::waitpid(id_, &status_, 0);
    }
    id_ = -1;
    if (WIFEXITED(status_)) outcome.code = WEXITSTATUS(status_);
    if (WIFSIGNALED(status_)) outcome.signal = WTERMSIG(status_);
    outcome.out = read_text(out_);
    outcome.err = read_text(err_);
    std::filesystem::remove(out_);
    std::filesystem::remove(err_);
    return outcome;
  }

 private:
  [[noreturn]] void become(const std::vector<char*>& arguments, const ProcessOptions& process_options) const {
    ::close(STDIN_FILENO);
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    if (::chdir(process_options.folder.c_str()) != 0 ||
        ::open(process_options.input.c_str(), O_RDONLY) != STDIN_FILENO ||
        ::dup2(::open(out_.c_str(), flags, 0600), STDOUT_FILENO) < 0 ||
        ::dup2(::open(err_.c_str(), flags, 0600), STDERR_FILENO) < 0)
      _exit(126);
    if (!process_options.network.empty()) {
      const int space = ::open(("/var/run/netns/" + process_options.network).c_str(), O_RDONLY);
      if (space < 0 || ::setns(space, CLONE_NEWNET) != 0) _exit(126);
    }
    ::signal(SIGHUP, SIG_DFL);  // nohup may have changed it
    for (auto& [name, value] : process_options.environment) ::setenv(name.c_str(), value.c_str(), 1);
    if (process_options.file_bytes != RLIM_INFINITY) {
      const rlimit limit{process_options.file_bytes, process_options.file_bytes};
      ::signal(SIGXFSZ, SIG_DFL);  // the program decides, whatever the test has set
      if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(126);
    }
    if (process_options.bound_by_permissions && ::geteuid() == 0 &&
        (::prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE) != 0 || ::prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH) != 0))
      _exit(126);
    ::execv(process_options.program.c_str(), arguments.data());
    _exit(127);
  }

  bool ended() { return has_ended_ || (has_ended_ = ::waitpid(id_, &status_, WNOHANG) == id_); }

  template <class Condition>
  static bool wait_until(Condition condition, double limit_s) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit_s);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }

  pid_t id_ = -1;
  int status_ = 0;
  bool has_ended_ = false;
  std::filesystem::path out_, err_;
};

inline Outcome run_program(const Words& words, const ProcessOptions& process_options, double limit_s = 600) {
  return Process(words, process_options).wait(limit_s);
}

/// doctest's CHECK with the whole outcome in its message.
// `outcome` may be a call that runs the program: once.
#define CHECK_EXIT(outcome, expected) \
  [&](const auto& ended_) { CHECK_MESSAGE(ended_.code == (expected), ended_); }(outcome)
#define REQUIRE_EXIT(outcome, expected) \
  [&](const auto& ended_) { REQUIRE_MESSAGE(ended_.code == (expected), ended_); }(outcome)
#define CHECK_SAYS(outcome, text) \
  CHECK_MESSAGE((outcome).err.find(text) != std::string::npos, "expected on stderr: " << (text) << "\n" << (outcome))
#define CHECK_PRINTS(outcome, text) \
  CHECK_MESSAGE((outcome).out.find(text) != std::string::npos, "expected on stdout: " << (text) << "\n" << (outcome))

}  // namespace flowtrain
