#pragma once
// Signals that poll() can wait for.

#include <chrono>
#include <optional>

namespace flowtrain {

/// Records SIGCHLD and signals that ask for an end or a snapshot (signal_rules), unless they were ignored, while it
/// lives. It uses handlers, since a signalfd takes a signal only if every thread of the process has blocked it. One
/// object at a time; more are a bug (InternalError).
class SignalPipe {
 public:
  struct Arrived {
    int signal = 0;
    bool from_terminal = false;  ///< Ctrl-C: the whole process group got it
  };

  SignalPipe();
  ~SignalPipe();
  SignalPipe(const SignalPipe&) = delete;
  SignalPipe& operator=(const SignalPipe&) = delete;

  /// Returns the next signal other than SIGCHLD, if one arrived.
  std::optional<Arrived> take();
  /// Returns when any signal, SIGCHLD as well, arrived since take() last found none, and at `deadline`.
  void wait(std::optional<std::chrono::steady_clock::time_point> deadline);
  /// Restores the earlier handlers, for a child between fork and exec.
  static void restore_handlers();
};

}  // namespace flowtrain
