#pragma once
// What each optimizer works with in each iteration: [optim] or [[optim]], moved by [lr] or [[schedule]].

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
  /// What moves them, in the order in which it is applied. Shared, as they never change.
  using Schedules = std::vector<std::shared_ptr<const TimedSchedule>>;
  Schedules lr, momentum, weight_decay;

  HyperParameters at(std::uint64_t iteration) const;
};

/// Those of all optimizers, in their order. `step_samples`: of all processes, in an iteration. `last`: the run's last
/// iteration.
std::vector<HyperParameterPlan> hyper_parameter_plans(const Config& config, std::uint64_t step_samples,
                                                      const Every& epoch, std::uint64_t last);

/// A sentence for each schedule that the run's end cuts short.
std::vector<std::string> schedule_notes(const Config& config, const Every& epoch, std::uint64_t last);

/// All of [[schedule]], or the schedules that [lr] and [lr.warmup] are short for.
std::vector<Settings> schedule_settings(const Config& config);

/// A schedule that moves its value otherwise because the run, or the schedule, ends elsewhere than before.
struct ChangedEnd {
  std::string key;      ///< of its end: "schedule.1.end"
  std::string name;     ///< the schedule's kind
  std::string was, is;  ///< the ends, and whose they are
};
/// All of them. A schedule counts only where its values up to the earlier end of the run differ, which covers kinds of
/// plugins, too. The data is not open: an end in epochs and one in iterations count as different ones.
std::vector<ChangedEnd> changed_ends(const Config& before, const Config& now);

/// A schedule with state: what it moves.
struct StatefulSchedule {
  std::string key;     ///< of its state in snapshots: kind, optimizer and target
  std::string optim;   ///< label; empty: all
  std::string target;  ///< "lr", "momentum" or "weight_decay"
  std::shared_ptr<TimedSchedule> schedule;

  void apply(const std::string& label, std::uint64_t iteration, HyperParameters& hyper) const;
};

/// Those with state, in their order. `measures`: whether a validation has this value.
std::vector<StatefulSchedule> stateful_schedules(const Config& config, const Every& epoch, std::uint64_t last,
                                                 const std::function<bool(const std::string&)>& measures);

}  // namespace flowtrain
