#pragma once
// The values of each optimizer in each iteration: [optim] or [[optim]], moved by [lr] or [[schedule]].

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "pipeline/base/schedules/timed_schedule.h"
#include "stages/model/compute.h"

namespace flowtrain {

/// One optimizer's values over a run.
struct HyperParameterPlan {
  std::string label;
  HyperParameters base;
  /// The schedules that move the values, in the order of application. They are shared, since they never change.
  using Schedules = std::vector<std::shared_ptr<const TimedSchedule>>;
  Schedules lr, momentum, weight_decay;

  HyperParameters at(std::uint64_t iteration) const;
};

/// Returns the plans of all optimizers, in their order. `step_samples` are those of all processes in an iteration,
/// `last` is the run's last iteration.
std::vector<HyperParameterPlan> hyper_parameter_plans(const Config& config, std::uint64_t step_samples,
                                                      const Every& epoch, std::uint64_t last);

/// Throws UserError(usage) for an optimizer that makes no update in a run of `last` iterations.
void check_updates(const Config& config, std::uint64_t last);

/// Returns a sentence for each schedule that the run's end cuts short, for learning rates of 0 over a long stretch, for
/// rules that meet one validation only, and for the iterations at the end whose gradients make no update.
std::vector<std::string> schedule_notes(const Config& config, const Every& epoch, std::uint64_t last);

/// Returns all of [[schedule]], or the schedules that [lr] and [lr.warmup] are short for.
std::vector<Settings> schedule_settings(const Config& config);

/// A schedule that moves its value differently because the run, or the schedule, ends elsewhere than before; or the
/// sizes of pictures that grow with the run.
struct ChangedEnd {
  std::string key;      ///< key of its end: "schedule.1.end", "loader.resize_at"
  std::string name;     ///< the schedule's kind; "the sizes"
  std::string was, is;  ///< old and new end, with their owner
};
/// Returns all such schedules. One counts only if its values up to the earlier end of the run differ, which covers
/// kinds of plugins, too. The data is not open: an end in epochs and one in iterations count as different.
std::vector<ChangedEnd> changed_ends(const Config& before, const Config& now);

/// A schedule with state, and the value that it moves.
struct StatefulSchedule {
  std::string key;     ///< key of its state in snapshots: kind, optimizer and target
  std::string optim;   ///< label of the optimizer; empty: all
  std::string target;  ///< "lr", "momentum" or "weight_decay"
  std::shared_ptr<TimedSchedule> schedule;

  void apply(const std::string& label, std::uint64_t iteration, HyperParameters& hyper) const;
};

/// Returns the schedules with state, in their order. `measures` says whether a validation has a value.
std::vector<StatefulSchedule> stateful_schedules(const Config& config, const Every& epoch, std::uint64_t last,
                                                 const std::function<bool(const std::string&)>& measures);

}  // namespace flowtrain
