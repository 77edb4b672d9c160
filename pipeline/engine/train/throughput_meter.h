#pragma once
// Measures the speed of training, and the times that it waits.

#include <chrono>
#include <cstdint>
#include <deque>
#include <utility>

#include "pipeline/engine/train/logger.h"
#include "pipeline/engine/verdict/load_meter.h"
#include "stages/core/group.h"
#include "stages/model/compute.h"
#include "stages/trace/profile.h"

namespace flowtrain {

/// The current time of an iteration: a mean over the last five seconds, or over eight iterations if these take longer.
class IterationWindow {
 public:
  /// Adds that `iterations` are done after `time_s` seconds; both grow from 0.
  void add(std::uint64_t iterations, double time_s);
  /// Returns seconds; 0 before the first iteration.
  double iteration_s() const;

 private:
  struct Mark {
    std::uint64_t iterations = 0;
    double time_s = 0;
  };
  std::deque<Mark> marks_ = {Mark{}};
  Mark latest_;
};

/// Times and counts of the compute thread since the last report, the epoch's begin and the run's begin. The time of
/// validations does not count.
class ThroughputMeter {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts the clock. `elapsed_before_s`: training time of earlier starts.
  void start(double elapsed_before_s);
  /// Adds the time that the compute thread waited for a batch.
  void waited(Clock::duration time);
  /// Adds the time that this object lives as time of computing.
  class Computing {
   public:
    explicit Computing(ThroughputMeter& meter) : meter_(meter) {}
    ~Computing() { meter_.computed(Clock::now() - begin_); }
    Computing(const Computing&) = delete;

   private:
    ThroughputMeter& meter_;
    Clock::time_point begin_ = Clock::now();
  };
  /// Takes out the time in which the compute thread did something else.
  void paused(Clock::duration time) { since_ += time, epoch_since_ += time, paused_s_ += seconds(time); }
  /// Adds the times of an iteration's exchange of gradients.
  void exchanged(const StepStats& stats) {
    exchange_s_ += stats.exchange_s;
    exposed_s_ += stats.exposed_s;
    run_exposed_s_ += stats.exposed_s;
  }
  /// Adds samples: `of_all` are those that this process counts for the whole group.
  void count_samples(std::size_t of_all, std::size_t own) {
    samples_ += of_all, epoch_samples_ += of_all;
    own_samples_ += own;
  }
  /// Adds an iteration. Its time is that of take_iteration().
  void count_iteration() {
    ++iterations_;
    window_.add(++run_iterations_, run_s() - paused_s_);
    steps_.add(iteration_.waited_s + iteration_.computed_s);
  }

  /// Returns the number of iterations since the last report.
  std::uint64_t iterations() const { return iterations_; }

  /// The times of an iteration.
  struct IterationTime {
    double waited_s = 0, computed_s = 0;
  };
  /// Returns the times since the last call.
  IterationTime take_iteration() { return std::exchange(iteration_, {}); }

  /// Returns the training time over all starts.
  double elapsed_s() const { return elapsed_before_s_ + run_s(); }
  /// Returns the training time of this start.
  double run_s() const { return seconds(Clock::now() - start_); }
  /// Returns the time of this start in which compute waited for batches.
  double wait_s() const { return wait_s_; }
  /// Returns the seconds that `iterations` more will take at the current speed, with pauses as often as before.
  double remaining_s(std::uint64_t iterations) const;
  /// Returns the times of this start, without pauses.
  ConsumerTimes consumer() const { return {run_s() - paused_s_, wait_s_, run_exposed_s_, own_samples_}; }

  /// Returns the times since the last report; percentiles only if it is `complete`.
  StepTimes times(bool complete) const;
  /// Replaces the event's times and limit by those of the slowest process, which all wait for; the time that a process
  /// waits for the others is not its own. A collective of a group of several; a single process changes nothing.
  void compare_ranks(Group& group, StepEvent& event) const;
  /// Begins the next report.
  void begin_report();
  /// Returns samples_per_s and data_wait of the epoch, and begins the next one.
  Scalars end_epoch();

 private:
  void computed(Clock::duration time);
  static double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

  double elapsed_before_s_ = 0;
  double wait_s_ = 0, paused_s_ = 0, run_exposed_s_ = 0;  // since the start of the run
  std::uint64_t own_samples_ = 0;                         // since the start of the run
  Clock::time_point start_, since_, epoch_since_;
  double waited_s_ = 0, compute_s_ = 0, exchange_s_ = 0, exposed_s_ = 0;  // since the last report
  std::uint64_t samples_ = 0, iterations_ = 0;
  std::uint64_t run_iterations_ = 0;  // since the start of the run
  IterationWindow window_;            // omits pauses
  Durations steps_;                   // times of whole iterations
  IterationTime iteration_;
  double epoch_waited_s_ = 0;
  std::uint64_t epoch_samples_ = 0;
};

}  // namespace flowtrain
