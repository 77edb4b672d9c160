#pragma once
// Signals as something to wait for with poll().

#include <chrono>
#include <optional>

namespace flowtrain {

/// While it lives, signals that ask for an end or a snapshot (signal_rules), unless they were ignored, and SIGCHLD are
/// only remembered.
/// Handlers and not a signalfd, since that takes a signal only if every thread of the process has it blocked. One
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

  /// The next signal other than SIGCHLD, if one arrived.
  std::optional<Arrived> take();
  /// Returns when any signal, SIGCHLD as well, arrived since take() last found none, and at `deadline`.
  void wait(std::optional<std::chrono::steady_clock::time_point> deadline);
  /// The handlers that were there before. For a child between fork and exec.
  static void restore_handlers();
};

}  // namespace flowtrain
