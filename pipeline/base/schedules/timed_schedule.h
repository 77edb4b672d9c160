#pragma once
// One [[schedule]]: a kind, from `begin` to `end`.

#include <cstdint>
#include <memory>

#include "pipeline/base/schedules/schedule.h"

namespace flowtrain {

/// Leaves the value alone until its begin; after its end the value stays as the schedule left it.
class TimedSchedule {
 public:
  /// `settings` are the keys of [[schedule]] and of its kind. `last` is the run's last iteration and the default end. A
  /// schedule with state also needs the rest of `input`. Throws UserError(usage) unless the end is after the beginning.
  TimedSchedule(const Settings& settings, const Every& epoch, std::uint64_t last, ScheduleInput input = {});

  /// Returns the value at `iteration` (from 1) of a hyper-parameter that is `value` without this schedule.
  double apply(double value, std::uint64_t iteration) const;
  const TraitsOf<Schedule>& traits() const { return traits_; }
  /// Returns whether a part of the schedule is after the run's end.
  bool is_cut_short() const { return cut_short_; }
  // Schedules with state have these, see Schedule.

  /// Records the validation after `iteration`. Validations outside the schedule do not count.
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
