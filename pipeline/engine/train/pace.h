#pragma once
// The speed of training, and the times that it waits.

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

/// How long an iteration takes by now: a mean over the last five seconds, or over eight iterations where they are
/// longer.
class PaceWindow {
 public:
  /// `iterations` are done after `time_s` seconds; both grow from 0.
  void add(std::uint64_t iterations, double time_s);
  /// Seconds; 0 before the first iteration.
  double iteration_s() const;

 private:
  struct Mark {
    std::uint64_t iterations = 0;
    double time_s = 0;
  };
  std::deque<Mark> marks_ = {Mark{}};
  Mark latest_;
};

/// Times and counts of the compute thread since the last report, the epoch's begin and the run's begin. Validations are
/// not part of the pace.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts the clock. `elapsed_before_s`: training time of earlier starts.
  void start(double elapsed_before_s);
  /// The compute thread waited for a batch.
  void waited(Clock::duration time);
  /// The compute thread computes while this object lives.
  class Computing {
   public:
    explicit Computing(Pace& pace) : pace_(pace) {}
    ~Computing() { pace_.computed(Clock::now() - begin_); }
    Computing(const Computing&) = delete;

   private:
    Pace& pace_;
    Clock::time_point begin_ = Clock::now();
  };
  /// The compute thread did something else; this time does not count.
  void paused(Clock::duration time) { since_ += time, epoch_since_ += time, paused_s_ += seconds(time); }
  void exchanged(const StepStats& stats) {
    exchange_s_ += stats.exchange_s;
    exposed_s_ += stats.exposed_s;
    run_exposed_s_ += stats.exposed_s;
  }
  /// `of_all`: what this process counts for the whole group.
  void count_samples(std::size_t of_all, std::size_t own) {
    samples_ += of_all, epoch_samples_ += of_all;
    own_samples_ += own;
  }
  /// An iteration is over. Its time is that of take_iteration().
  void count_iteration() {
    ++iterations_;
    window_.add(++run_iterations_, run_s() - paused_s_);
    steps_.add(iteration_.waited_s + iteration_.computed_s);
  }

  /// Since the last report.
  std::uint64_t iterations() const { return iterations_; }

  /// What an iteration took, in seconds.
  struct IterationTime {
    double waited_s = 0, computed_s = 0;
  };
  /// Since the last call.
  IterationTime take_iteration() { return std::exchange(iteration_, {}); }

  /// Training time over all starts, and of this one: in all, and waiting for data.
  double elapsed_s() const { return elapsed_before_s_ + run_s(); }
  double run_s() const { return seconds(Clock::now() - start_); }
  double wait_s() const { return wait_s_; }
  /// Seconds that `iterations` more will take, at the pace of the last ones, with pauses as often as there were.
  double remaining_s(std::uint64_t iterations) const;
  /// Of this start, without pauses.
  ConsumerTimes consumer() const { return {run_s() - paused_s_, wait_s_, run_exposed_s_, own_samples_}; }

  /// Fills in the fields of a report: rates since the last one, and for a train line how long iterations took.
  void describe(StepEvent& event) const;
  /// In a group of several: the times of the slowest process, which all wait for; what a process waits for the others
  /// is not its own. A collective there.
  void compare_ranks(Group& group, StepEvent& event) const;
  /// The next report begins.
  void begin_report();
  /// samples_per_s and data_wait of the epoch; the next one begins.
  Scalars end_epoch();

 private:
  void computed(Clock::duration time);
  static double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

  double elapsed_before_s_ = 0;
  double wait_s_ = 0, paused_s_ = 0, run_exposed_s_ = 0;  // since the run's begin
  std::uint64_t own_samples_ = 0;                         // likewise
  Clock::time_point start_, since_, epoch_since_;
  double waited_s_ = 0, compute_s_ = 0, exchange_s_ = 0, exposed_s_ = 0;  // since the last report
  std::uint64_t samples_ = 0, iterations_ = 0;
  std::uint64_t run_iterations_ = 0;  // since the run's begin
  PaceWindow window_;                 // without pauses
  Durations steps_;                   // of whole iterations
  IterationTime iteration_;
  double epoch_waited_s_ = 0;
  std::uint64_t epoch_samples_ = 0;
};

}  // namespace flowtrain
