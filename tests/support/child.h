#pragma once
// Runs a function in a child process whose standard error is a pipe or a terminal, since what is tested is bound to
// the process: signals, std::terminate, and the console.

#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

namespace flowtrain::testing {

struct ChildResult {
  std::string output;  ///< all of standard error
  int exit_code = -1;  ///< -1: ended by a signal
  int signal = 0;      ///< the signal that ended it; 0: none
};

class Child {
 public:
  /// Standard error is a terminal of `columns`, or a pipe for 0.
  Child(int columns, const std::function<int()>& body) {
    int from_child = -1, to_parent = -1;
    if (columns > 0) {
      winsize size{.ws_row = 24, .ws_col = static_cast<unsigned short>(columns), .ws_xpixel = 0, .ws_ypixel = 0};
      if (::openpty(&from_child, &to_parent, nullptr, nullptr, &size) != 0)
        throw std::runtime_error("no pseudo-terminal here");
    } else {
      int ends[2];
      if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
      from_child = ends[0];
      to_parent = ends[1];
    }
    std::fflush(nullptr);  // buffered text must not be written twice
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(to_parent, STDERR_FILENO);
      ::setenv("TERM", "xterm", 1);
      ::unsetenv("NO_COLOR");
      ::close(from_child);
      for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2})
        ::signal(signal, SIG_DFL);  // the test framework and nohup may have set others
      // A thread of its own has no frame of the test framework on its stack that could catch exceptions.
      int code = 0;
      std::thread([&] { code = body(); }).join();
      ::_exit(code);
    }
    ::close(to_parent);
    file_ = from_child;
  }

  void kill(int signal) { ::kill(pid_, signal); }

  /// Reads until standard error holds `text`, or ends.
  void wait_for(const std::string& text) {
    while (output_.find(text) == std::string::npos && read_some()) {
    }
  }

  ChildResult wait() {
    while (read_some()) {
    }
    return end();
  }

  /// Waits for the end, and does not read what is left in standard error.
  ChildResult wait_without_reading() { return end(); }

 private:
  ChildResult end() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    ChildResult result{output_};
    if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
    ::close(file_);
    return result;
  }

  // A terminal whose other side was closed reads as an error, a pipe as its end.
  bool read_some() {
    char buffer[4096];
    auto got = ::read(file_, buffer, sizeof buffer);
    if (got > 0) output_.append(buffer, static_cast<std::size_t>(got));
    return got > 0;
  }

  pid_t pid_ = 0;
  int file_ = -1;
  std::string output_;
};

/// The child's result, standard error being a pipe (0) or a terminal of so many columns.
inline ChildResult run_child(int columns, const std::function<int()>& body) { return Child(columns, body).wait(); }

}  // namespace flowtrain::testing
