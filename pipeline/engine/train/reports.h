#pragma once
// The reports of a run about its iterations, to hooks and loggers.

#include <cstdint>
#include <optional>
#include <string>

#include "pipeline/engine/train/hook_calls.h"
#include "pipeline/engine/train/load_reports.h"
#include "pipeline/engine/train/logger.h"
#include "pipeline/engine/train/pace.h"
#include "pipeline/engine/train/run_state.h"
#include "stages/core/every.h"
#include "stages/core/group.h"
#include "stages/trace/profile.h"

namespace flowtrain {

/// Which iterations are reported.
struct ReportPlan {
  std::uint64_t first = 1, last = 0;  ///< iterations of this start
  Every every = 20;                   ///< from one train line to the next
  Every epoch = {};                   ///< off: the run has no epochs
};

/// What train lines tell of machine and device.
struct Gauges {
  Profile* phases = nullptr;              ///< null: phases are not timed
  const MachineMeter* machine = nullptr;  ///< null: nobody measures
  double peak_flops = 0;                  ///< of a process's device, per second; 0: not known
};

/// Completes each iteration's report and passes it on.
struct Reports {
  const ReportPlan plan;
  const Loggers& loggers;
  HookCalls& hooks;
  Group& group;
  RunState& state;
  const Gauges gauges = {};
  Pace pace = {};
  std::optional<LoadReports> load = {};  ///< nothing: what limits is not known

  /// Whether the iteration's train line is due, whose statistics are then to be read.
  bool due(std::uint64_t iteration) const { return plan.every.ends(iteration); }
  /// Reports a finished iteration. `scalars`: the parts of its loss and its learning rates; empty if they were not
  /// read. A collective if due().
  void put(StepEvent event, const Scalars& scalars);

 private:
  void complete(StepEvent& event);
  void read_gauges(StepEvent& event, double iteration_s) const;
  void add_to_means(const StepEvent& event, const Scalars& scalars);
  void add_to_mean(const std::string& name, double value);
  void take_logged();
  Scalars smoothed(const Scalars& scalars) const;
  void show(const StepEvent& event, const Scalars& scalars);
  void end_epoch();
};

/// Means over the last epoch that began, as far as it has come, by name.
Scalars epoch_means(const RunState& state);

}  // namespace flowtrain
