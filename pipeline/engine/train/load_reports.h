#pragma once
// The limit of the throughput of training, for its reports.

#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/train/logger.h"
#include "pipeline/engine/verdict/load_meter.h"

namespace flowtrain {

/// Measures the load of the loader and of the compute thread. The compute thread calls all methods.
class LoadReports {
 public:
  LoadReports(const Loader& loader, const ConsumerTimes& now)
      : loader_(loader), shape_(loader.shape()), since_report_(loader, now), since_shape_(loader, now) {}

  /// Fills in the event's limit since the last report. It is measured for each report, and once a second between them.
  void describe(StepEvent& event, const ConsumerTimes& now);
  /// Begins the next report.
  void begin_report(const ConsumerTimes& now) { since_report_ = LoadMeter(loader_, now); }
  /// Returns the load since the loader got its shape.
  PipelineLoad load(const ConsumerTimes& now) const { return since_shape_.load(now); }

 private:
  const Loader& loader_;
  LoaderShape shape_;
  LoadMeter since_report_, since_shape_;
  Verdict latest_;
  double judged_at_s_ = 0;  // by ConsumerTimes::wall_s
};

}  // namespace flowtrain
