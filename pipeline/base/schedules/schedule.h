#pragma once
// The kinds of [[schedule]], which move a hyper-parameter of an optimizer during training. Formulas are those of
// torch.optim.lr_scheduler's classes of these names, with factors in place of absolute rates.

#include <cstdint>
#include <memory>
#include <string>

#include "sampling/core/registry.h"
#include "stages/core/every.h"
#include "stages/model/compute.h"

namespace flowtrain {

/// Gives a hyper-parameter's value at a place of its schedule. Most are pure functions of the place, so that a resumed
/// run needs no state of them, and any thread calls them. One with state (TraitsOf<Schedule>) also depends on
/// validations; the compute thread alone calls it.
class Schedule {
 public:
  virtual ~Schedule() = default;
  /// Returns the scheduled value; `value` is the one without this schedule, and `at` runs from 0 to
  /// ScheduleInput::length, in its unit.
  virtual double apply(double value, double at) const = 0;
  /// Returns the place after which the value no longer changes. After the last iteration, it is never reached.
  virtual double reach() const { return 0; }

  // Schedules with state have:

  /// Takes a validation's metrics.
  virtual void record(const Scalars&) {}
  /// Returns text for each snapshot, which restore() gets if the run continues from one.
  virtual std::string state() const { return {}; }
  /// Throws std::invalid_argument for a text that state() cannot have returned.
  virtual void restore(const std::string&) {}
};

template <>
struct TraitsOf<Schedule> {
  bool has_state = false;   ///< it depends on validations, and snapshots keep its state
  bool comes_last = false;  ///< it acts on the result of all others, as a warm-up does
};

struct ScheduleInput {
  double length = 0;  ///< length from `begin` to `end`, in its unit: iterations or epochs
  double iterations_per_unit = 1;
  Every epoch = 1;  ///< length in iterations
  // Schedules with state use:
  std::string metric = {};  ///< metric of validation that its keys `metric` and `mode` name
  bool lower_wins = false;  ///< the lower value is the better one
  bool measured = true;     ///< false: no validation has it
};

using ScheduleEntry = Entry<Schedule, ScheduleInput>;

/// Returns all kinds by name. An entry's keys are added to those of [[schedule]].
Registry<Schedule, ScheduleInput>& schedules();

}  // namespace flowtrain
