#pragma once
// SIGINT, SIGTERM and SIGUSR1: the first asks for a clean end, the second ends the process at once.

#include <chrono>
#include <optional>
#include <stop_token>
#include <thread>

namespace flowtrain {

/// While it lives, the first SIGINT, SIGTERM or SIGUSR1 (which Slurm sends some time before the end: `--signal`) is
/// only remembered, for the run to end after a snapshot; another one ends the process with exit_code(). So does, after
/// SIGTERM and SIGUSR1, the end of the grace period: who preempts a job does not wait for ever. Signals that arrive
/// within `same_signal` of the first count as one with it: timeout(1) and some launchers send SIGTERM twice in a row.
/// SIGPIPE is ignored meanwhile: in `flowtrain … | tee log` a Ctrl-C ends tee first, and the snapshot must still be
/// written. The old handlers come back at the end. One object at a time; more are a bug (InternalError).
class Interrupt {
 public:
  explicit Interrupt(std::chrono::milliseconds same_signal = std::chrono::milliseconds(200));
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// From the signal to the end, an hour unless set; counts from now where the signal came before.
  void set_grace(std::chrono::duration<double> grace);
  /// The signal that arrived, if one did. Any thread.
  std::optional<int> requested() const;
  /// Requested by the first signal, a moment after requested() says so: callbacks run on a thread of this object's.
  std::stop_token token() const { return stop_.get_token(); }

  /// What a process ended by `signal` returns, as shells have it: 130 for SIGINT, 143 for SIGTERM; 143 for SIGUSR1,
  /// too, so that a preempted job looks the same to whoever starts it again.
  static int exit_code(int signal);
  /// Throws UserError with that code where a signal came, before anything was trained; `during` says what was going on.
  void check(const char* during) const;

 private:
  std::stop_source stop_;
  std::jthread deadline_;
};

}  // namespace flowtrain
