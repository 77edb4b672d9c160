#pragma once
// Signals that ask for an end (stages/system/signals.h): the first asks for a clean one, the second ends the process at
// once.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "sampling/core/mutex.h"

namespace flowtrain {

/// While it lives, the first signal that asks for an end (SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU and others:
/// signal_rules) is only remembered, for the run to end after a snapshot; another one ends the process
/// with exit_code(). So does, after all but SIGINT, the end of the grace period: who preempts a job does not wait for
/// ever. Signals that arrive within `same_signal` of the first count as one with it: timeout(1) and some launchers send
/// SIGTERM twice in a row. SIGHUP and SIGXCPU are never second signals: they come several times for one reason. Where
/// SIGHUP is ignored at the start, as under nohup(1), it stays so.
/// SIGUSR2 asks for a snapshot and no end: such signals are counted.
/// Where nothing is to be saved nobody has to ask for signals: see end_at_once().
/// SIGPIPE is ignored meanwhile: in `flowtrain … | tee log` a Ctrl-C ends tee first, and the snapshot must still be
/// written. The old handlers come back at the end. One object at a time; more are a bug (InternalError).
class Interrupt {
 public:
  explicit Interrupt(std::chrono::milliseconds same_signal = std::chrono::milliseconds(200));
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// From now on the first signal ends the process as well, with exit_code(), whatever it is doing, unless somebody has
  /// deferred that.
  void end_at_once() FT_EXCLUDES(mutex_);
  /// Called before such an end, by another thread than the one that works: takes away what a start has made. An empty
  /// function takes nothing away.
  void set_cleanup(std::function<void()> cleanup) FT_EXCLUDES(mutex_);
  /// From now on there is something to save, or something half made: the caller asks for signals, and ends.
  void defer() FT_EXCLUDES(mutex_);
  /// Takes one defer() back. Where a signal came meanwhile and nobody else defers, the process ends here.
  void undefer() FT_EXCLUDES(mutex_);
  /// Defers while it lives; of no object (null): does nothing.
  class Deferral;

  /// From the signal to the end, an hour unless set; counts from now where the signal came before.
  void set_grace(std::chrono::duration<double> grace);
  /// The signal that arrived, if one did. Any thread.
  std::optional<int> requested() const;
  /// How often SIGUSR2 has arrived. Any thread.
  std::uint64_t snapshot_requests() const;
  /// Requested by the first signal, a moment after requested() says so: callbacks run on a thread of this object's.
  std::stop_token token() const { return stop_.get_token(); }

  /// What a process ended by `signal` returns: 130 for SIGINT, as shells have it, and 143 for all others, so that a job
  /// that was preempted looks the same to whoever starts it again.
  static int exit_code(int signal);

 private:
  void watch_deadline();
  void end_if_asked() FT_REQUIRES(mutex_);

  Mutex mutex_;
  bool at_once_ FT_GUARDED_BY(mutex_) = false;
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

/// "SIGTERM".
std::string signal_name(int signal);

}  // namespace flowtrain
