#pragma once
// Signals that ask for an end (stages/system/signals.h): the first asks for a clean one, the second ends at once.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "sampling/core/mutex.h"

namespace flowtrain {

/// Records the first signal that asks for an end (SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU and others: signal_rules)
/// while it lives, for the run to end after a snapshot; another one ends the process with exit_code(). The end of the
/// grace period does so, too, except after SIGINT, because preemption of a job does not wait for ever. Signals that
/// arrive within `same_signal` of the first count as one with it: timeout(1) and some launchers send SIGTERM twice in a
/// row. SIGHUP and SIGXCPU are never second signals: they come several times for one reason. SIGHUP stays ignored if it
/// was so at the start, as under nohup(1). SIGUSR2 asks for a snapshot without an end: such signals are counted. Code
/// without anything to save need not check for signals: see end_at_once(). SIGPIPE is ignored meanwhile: in `flowtrain
/// … | tee log` a Ctrl-C ends tee first, and the snapshot must still be written. The old handlers come back at the end.
/// One object at a time; more are a bug (InternalError).
class Interrupt {
 public:
  explicit Interrupt(std::chrono::milliseconds same_signal = std::chrono::milliseconds(200));
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Makes the first signal, too, end the process from now on, with exit_code(), whatever it is doing, unless that is
  /// deferred.
  void end_at_once() FT_EXCLUDES(mutex_);
  /// Leaves what is to be saved out of the message of such an end, as the command saves nothing.
  void saves_nothing() FT_EXCLUDES(mutex_);
  /// Sets a function that another thread calls before such an end: it removes the traces of a start.
  void set_cleanup(std::function<void()> cleanup) FT_EXCLUDES(mutex_);
  /// Defers such an end from now on, because something is to be saved, or half made: the caller checks for signals, and
  /// ends.
  void defer() FT_EXCLUDES(mutex_);
  /// Takes one defer() back. If a signal came meanwhile and no other defer() is open, the process ends here.
  void undefer() FT_EXCLUDES(mutex_);
  /// Defers while it lives; it does nothing without an object (null).
  class Deferral;

  /// Sets the time from the signal to the end, by default an hour; it counts from now if the signal came before.
  void set_grace(std::chrono::duration<double> grace);
  /// Returns the signal that arrived, if one did. Any thread.
  std::optional<int> requested() const;
  /// Returns the number of SIGUSR2 so far. Any thread.
  std::uint64_t snapshot_requests() const;
  /// Returns a token that the first signal triggers, a moment after requested(): callbacks run on its own thread.
  std::stop_token token() const { return stop_.get_token(); }

  /// Returns the exit code of a process ended by `signal`: 130 for SIGINT, as in shells, and 143 for all others, so
  /// that a preempted job always looks the same to its starter.
  static int exit_code(int signal);

 private:
  void watch_deadline();
  void end_if_asked() FT_REQUIRES(mutex_);

  Mutex mutex_;
  bool at_once_ FT_GUARDED_BY(mutex_) = false;
  bool saves_ FT_GUARDED_BY(mutex_) = true;
  int deferrals_ FT_GUARDED_BY(mutex_) = 0;
  std::function<void()> cleanup_ FT_GUARDED_BY(mutex_);
  std::stop_source stop_;
  std::jthread deadline_;
};

class Interrupt::Deferral {
 public:
  explicit Deferral(Interrupt* interrupt) : interrupt_(interrupt) {
    if (interrupt_) interrupt_->defer();
  }
  ~Deferral() {
    if (interrupt_) interrupt_->undefer();
  }
  Deferral(const Deferral&) = delete;
  Deferral& operator=(const Deferral&) = delete;

 private:
  Interrupt* interrupt_;
};

/// Returns "SIGTERM".
std::string signal_name(int signal);

}  // namespace flowtrain
