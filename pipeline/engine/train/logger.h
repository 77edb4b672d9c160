#pragma once
// Loggers: side branches of training that get the reports of the compute thread.

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "pipeline/base/telemetry/drawing.h"
#include "pipeline/base/telemetry/machine_meter.h"
#include "pipeline/engine/graph/outlet.h"
#include "pipeline/engine/validation/samples.h"
#include "pipeline/engine/verdict/model.h"
#include "stages/evaluation/class_table.h"
#include "stages/model/validator.h"
#include "stages/trace/histogram.h"
#include "stages/trace/profile.h"

namespace flowtrain {

/// An iteration as seen by the compute thread. Metrics that were not fetched are not finite.
struct StepEvent {
  std::uint64_t iteration = 0, epoch = 0;  ///< epoch from 0
  double loss = std::numeric_limits<double>::quiet_NaN(), grad_norm = loss;
  double loss_avg = 0, lr = 0;
  double clipped = 0;  ///< share of the iterations since the last report whose gradients were clipped
  double samples_per_s = 0, data_wait = 0;  ///< since the last report
  double data_time_s = 0, step_time_s = 0;  ///< means per iteration since the last report
  double elapsed_s = 0;                     ///< training time over all starts
  std::uint64_t samples = 0;                ///< that the run was trained on so far, of all processes
  Limit limit = Limit::none;                ///< of the slowest process
  double limit_share = 0;  ///< of the wall time in which all threads of what limits were at work, 0 … 1
  double queue_fill = 0;   ///< share of the batches ahead that were ready when compute asked for one, 0 … 1
  double step_p50_s = 0, step_p99_s = 0;    ///< of single iterations since the last report
  std::array<double, phases> phase_s = {};  ///< means per iteration since the last report; 0: none, or not known
  double flops = 0;                         ///< of an iteration, by all processes; 0: not known
  double mfu = std::numeric_limits<double>::quiet_NaN();  ///< model FLOPs utilisation, 0..1
  MachineUse machine = {};                                ///< where it is measured
  double eta_s = 0;
  int slowest_rank = -1;           ///< that the others wait for; -1 where one process trains
  double slowest_s = 0;            ///< its own time per iteration: data and computing
  int slowest_link = -1;           ///< the rank whose way to the others is slowest
  double link_s = 0;               ///< how long a word takes on it, at most
  double exchange_s = 0;           ///< gradients on their way, per iteration, as the slowest rank sees it
  double exchange_hidden = 0;      ///< the part of that which backward hides
  bool report = false;             ///< write a line, not only move the bar
  bool left_out = false;           ///< an error kept it from being computed: there was no update
  const char* recovery = nullptr;  ///< what was done about metrics that are not finite: "skipped", …
};

/// A validation that is over.
struct ValidationEvent {
  std::uint64_t iteration = 0;  ///< the iteration that was validated
  Scalars scalars = {};
  bool improved = false;                     ///< the best so far by the first [[best]] rule
  std::optional<ClassTable> confusion = {};  ///< where it was asked for
  std::uint64_t replaced = 0;                ///< rows in which another record stood for a bad one
  /// Samples to look at, [data.val]'s first; null where none are asked for.
  std::shared_ptr<const std::vector<ShownSamples>> samples = {};
  std::vector<std::uint64_t> best = {};  ///< with `samples`: the iterations that the [[best]] rules keep, by now
};

/// Gets reports in their order from the compute thread, which must not wait: each logger has a queue and a thread of
/// its own. A new logger is a file, and a line in session/loggers.cpp.
class Logger {
 public:
  virtual ~Logger() = default;
  /// Called once, before all others, with the graph that the run works by.
  virtual void begin(const Drawing&) {}
  /// Called after each iteration. `scalars`: its other values, given only where event.report is set.
  virtual void step(const StepEvent& event, const Scalars& scalars) = 0;
  /// Called after the last iteration of an epoch (counted from 0), with the means over the epoch.
  virtual void epoch(std::uint64_t, std::uint64_t, const Scalars&) {}
  virtual void validation(const ValidationEvent&) {}
  /// A wait for all that was given before this call: when it returns, that is written. Any thread may carry it out,
  /// also when the logger is gone.
  virtual std::function<void()> wait_for_written() {
    return [] {};
  }
  /// Called after each iteration of display.histograms, before step(): of weights before its update, and of gradients.
  virtual void histograms(std::uint64_t, const Histograms&) {}
  /// Returns when everything is written. Rethrows the first error of the logger's thread.
  virtual void finish() {}
};

/// All loggers of a run.
struct Loggers {
  Outlets<Logger> outlets = {};

  void step(const StepEvent& event, const Scalars& scalars) const {
    for (auto* each : outlets.to) each->step(event, scalars);
  }
  void epoch(std::uint64_t iteration, std::uint64_t epoch, const Scalars& means) const {
    for (auto* each : outlets.to) each->epoch(iteration, epoch, means);
  }
  void validation(const ValidationEvent& event) const {
    for (auto* each : outlets.to) each->validation(event);
  }
  std::function<void()> wait_for_written() const {
    std::vector<std::function<void()>> all;
    for (auto* each : outlets.to) all.push_back(each->wait_for_written());
    return [all = std::move(all)] {
      for (auto& each : all) each();
    };
  }
  void histograms(std::uint64_t iteration, const Histograms& all) const {
    for (auto* each : outlets.to) each->histograms(iteration, all);
  }
};

}  // namespace flowtrain
