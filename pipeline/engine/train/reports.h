#pragma once
// Reports iterations to hooks and loggers.

#include <cstdint>
#include <optional>
#include <string>

#include "pipeline/engine/train/hook_calls.h"
#include "pipeline/engine/train/load_reports.h"
#include "pipeline/engine/train/logger.h"
#include "pipeline/engine/train/run_state.h"
#include "pipeline/engine/train/throughput_meter.h"
#include "stages/core/every.h"
#include "stages/core/group.h"
#include "stages/trace/profile.h"

namespace flowtrain {

/// The iterations that are reported.
struct ReportPlan {
  std::uint64_t last = 0;  ///< The last iteration of the run.
  Every every = 20;        ///< The iterations with a train line.
  Every epoch = {};        ///< The last iterations of epochs; off if the run has none.
};

/// The measurements of machine and device for train lines.
struct Gauges {
  Profile* phases = nullptr;              ///< Null if phases are not timed.
  const MachineMeter* machine = nullptr;  ///< Null if nobody measures.
  double peak_flops = 0;                  ///< The peak of one process's device, per second; 0: not known.
};

/// Completes each iteration's report and passes it to hooks and loggers.
class Reports {
 public:
  /// Everything outlives the reports.
  Reports(const ReportPlan& plan, const Loggers& loggers, HookCalls& hooks, Group& group, ThroughputMeter& meter,
          ReportState& state, const Gauges& gauges = {})
      : plan_(plan), loggers_(loggers), hooks_(hooks), group_(group), meter_(meter), state_(state), gauges_(gauges) {}

  /// Measures from now on what limits the training; without a call this is not known.
  void measure_load(const Loader& loader) { load_.emplace(loader, meter_.consumer()); }
  /// Returns the load since the loader got its shape, after measure_load().
  PipelineLoad load() const { return load_.value().load(meter_.consumer()); }

  /// Returns whether the iteration's train line is due, so that its statistics must be read.
  bool due(std::uint64_t iteration) const { return plan_.every.ends(iteration); }
  /// Adds the statistics of an iteration; only those of an `update` count for means of the last values.
  void add(const StepStats& stats, bool update);
  /// Reports a finished iteration. `scalars` has the parts of its loss and its learning rates; it is empty if they were
  /// not read. A collective if due().
  void put(StepEvent event, const Scalars& scalars);
  /// Returns the means over the last epoch that began, as far as it has come, by name.
  Scalars epoch_means() const;

 private:
  void complete(StepEvent& event);
  void read_gauges(StepEvent& event, double iteration_s) const;
  void add_to_means(const StepEvent& event, const Scalars& scalars);
  void add_to_mean(const std::string& name, double value);
  void take_logged();
  Scalars smoothed(const Scalars& scalars) const;
  void show(const StepEvent& event, const Scalars& scalars);
  void end_epoch(std::uint64_t iteration);

  const ReportPlan plan_;
  const Loggers& loggers_;
  HookCalls& hooks_;
  Group& group_;
  ThroughputMeter& meter_;
  ReportState& state_;
  const Gauges gauges_;
  std::optional<LoadReports> load_;
};

}  // namespace flowtrain
