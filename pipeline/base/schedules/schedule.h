#pragma once
// How a hyper-parameter of an optimizer moves while it trains: the kinds of [[schedule]]. Formulas are those of
// torch.optim.lr_scheduler's classes of these names, with factors in place of absolute rates.

#include <cstdint>
#include <memory>
#include <string>

#include "sampling/core/registry.h"
#include "stages/core/every.h"
#include "stages/model/compute.h"

namespace flowtrain {

/// Gives a hyper-parameter's value at a place of its schedule. Most are pure functions of the place, so that a resumed
/// run needs no state of them, and are called by any thread. One with state (TraitsOf<Schedule>) also goes by
/// validations; the compute thread alone calls it.
class Schedule {
 public:
  virtual ~Schedule() = default;
  /// `value`: what it would be without this schedule. `at`: from 0 to ScheduleInput::length, in its unit.
  virtual double apply(double value, double at) const = 0;
  /// The place after which the value no longer changes. If that is after the last iteration, a part of the schedule is
  /// never reached.
  virtual double reach() const { return 0; }

  // With state only:

  /// Takes a validation's metrics.
  virtual void record(const Scalars&) {}
  /// Goes into each snapshot, and comes back by restore() where the run goes on from one.
  virtual std::string state() const { return {}; }
  /// Throws std::invalid_argument for what state() does not give.
  virtual void restore(const std::string&) {}
};

template <>
struct TraitsOf<Schedule> {
  bool has_state = false;   ///< it goes by validations, and snapshots keep its state
  bool comes_last = false;  ///< it acts on what all others make of the value, as a warm-up does
};

struct ScheduleInput {
  double length = 0;  ///< of the schedule, from `begin` to `end`, in its unit: iterations or epochs
  double iterations_per_unit = 1;
  Every epoch = 1;  ///< in iterations
  // With state only:
  std::string metric = {};  ///< of validation, that its keys `metric` and `mode` name
  bool lower_wins = false;  ///< the lower value is the better one
  bool measured = true;     ///< false: no validation has it
};

using ScheduleEntry = Entry<Schedule, ScheduleInput>;

/// All kinds by name. An entry's keys come beside those of [[schedule]].
Registry<Schedule, ScheduleInput>& schedules();

}  // namespace flowtrain
