#pragma once
// One [[schedule]]: a kind, from `begin` to `end`.

#include <cstdint>
#include <memory>

#include "pipeline/base/schedules/schedule.h"

namespace flowtrain {

/// Before its begin the value is left alone; after its end it stays as the schedule left it.
class TimedSchedule {
 public:
  /// `settings`: keys of [[schedule]] and of its kind. `last`: the run's last iteration, which is the end unless given.
  /// Of `input` what only a schedule with state reads. Throws UserError(usage) where the end is not after the
  /// beginning.
  TimedSchedule(const Settings& settings, const Every& epoch, std::uint64_t last, ScheduleInput input = {});

  /// The value at `iteration` (from 1) of a hyper-parameter that is `value` without this schedule.
  double apply(double value, std::uint64_t iteration) const;
  const TraitsOf<Schedule>& traits() const { return traits_; }
  /// Whether a part of the schedule is after the run's end.
  bool is_cut_short() const { return cut_short_; }
  // Of one with state: see Schedule.

  /// `iteration`: after which the validation is. Before the schedule's begin, and after its end, nothing counts.
  void record(const Scalars& scalars, std::uint64_t iteration);
  std::string state() const { return schedule_->state(); }
  void restore(const std::string& state) { schedule_->restore(state); }

 private:
  double place_of(std::uint64_t iteration) const;

  Every unit_;  // an iteration or an epoch
  double begin_, length_;
  bool smooth_, cut_short_;
  TraitsOf<Schedule> traits_;
  std::unique_ptr<Schedule> schedule_;
};

}  // namespace flowtrain
