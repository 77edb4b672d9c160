#pragma once
// What limits the training, for its reports.

#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/train/logger.h"
#include "pipeline/engine/verdict/load_meter.h"

namespace flowtrain {

/// Judges the load of the loader and of the compute thread, which calls.
class LoadReports {
 public:
  LoadReports(const Loader& loader, const ConsumerTimes& now)
      : loader_(loader), shape_(loader.shape()), since_report_(loader, now), since_shape_(loader, now) {}

  /// Fills in the event's limit, measured since the last report: anew for each report and after each second, else as it
  /// was.
  void describe(StepEvent& event, const ConsumerTimes& now);
  /// The next report begins.
  void begin_report(const ConsumerTimes& now) { since_report_ = LoadMeter(loader_, now); }
  /// Since the loader has its shape.
  PipelineLoad load(const ConsumerTimes& now) const { return since_shape_.load(now); }

 private:
  const Loader& loader_;
  LoaderShape shape_;
  LoadMeter since_report_, since_shape_;
  Verdict latest_;
  double judged_at_s_ = 0;  // ConsumerTimes::wall_s
};

}  // namespace flowtrain
