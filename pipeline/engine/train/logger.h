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
#include "pipeline/engine/text/text_samples.h"
#include "pipeline/engine/validation/samples.h"
#include "pipeline/engine/verdict/model.h"
#include "stages/evaluation/class_table.h"
#include "stages/model/validator.h"
#include "stages/trace/histogram.h"
#include "stages/trace/profile.h"

namespace flowtrain {

/// The use of an iteration's gradients.
enum class Decision {
  update,      ///< The optimizers change the parameters.
  scale_down,  ///< Half precision overflowed: the learner keeps the weights, and lowers the loss's scale.
  skip,        ///< The gradients are not finite, and dropped.
  roll_back,   ///< The weights go back to an earlier snapshot, and the learning rate is lowered.
  leave_out,   ///< An error kept the gradients from being computed.
};

/// The times of iterations since the last report, and of the run.
struct StepTimes {
  double samples_per_s = 0;
  double data_wait = 0;                     ///< The share of the time in which compute waited for a batch.
  double data_s = 0, step_s = 0;            ///< Means per iteration.
  double p50_s = 0, p99_s = 0;              ///< Percentiles of single iterations; only in reports.
  std::array<double, phases> phase_s = {};  ///< Means per iteration; 0: the phase has no time, or is not measured.
  double elapsed_s = 0;                     ///< The training time over all starts.
  double eta_s = 0;                         ///< The time that the remaining iterations will take.
};

/// The limit of the throughput, in the slowest process.
struct StepLimit {
  Limit stage = Limit::none;
  double share = 0;       ///< The share of the time in which all threads of the stage were at work, 0 … 1.
  double queue_fill = 0;  ///< The share of the batches ahead that were ready when compute asked for one, 0 … 1.
};

/// The times of the slowest process and link; only in reports of several processes.
struct RankTimes {
  int slowest = -1;            ///< The rank that the others wait for; -1 if one process trains.
  double slowest_s = 0;        ///< The slowest rank's time per iteration, for data and computing.
  int slowest_link = -1;       ///< The rank with the slowest connection to the others.
  double link_s = 0;           ///< The longest time that a message took on it.
  double exchange_s = 0;       ///< The time of the exchange of gradients per iteration, as the slowest rank sees it.
  double exchange_hidden = 0;  ///< The share of it that backward hides.
};

/// The use of the machine.
struct StepMachine {
  double flops = 0;  ///< The floating-point operations of an iteration, by all processes; 0: not known.
  double mfu = std::numeric_limits<double>::quiet_NaN();  ///< The model FLOPs utilisation, 0 … 1.
  MachineUse use = {};                                    ///< The memory, the GPU and the CPU, where they are measured.
};

/// An iteration as seen by the compute thread. Metrics that were not read are not finite.
struct StepEvent {
  std::uint64_t iteration = 0, epoch = 0;  ///< Epochs count from 0.
  std::uint64_t samples = 0;               ///< The number of samples that all processes have trained on so far.
  double loss = std::numeric_limits<double>::quiet_NaN(), grad_norm = loss;
  double loss_avg = 0, lr = 0;
  double clipped = 0;  ///< The share of the iterations since the last report whose gradients were clipped.
  Decision decision = Decision::update;
  bool report = false;  ///< Loggers write a line, in addition to moving the progress bar.
  StepTimes times = {};
  StepLimit limit = {};
  RankTimes ranks = {};
  StepMachine machine = {};
};

/// A validation that is over.
struct ValidationEvent {
  std::uint64_t iteration = 0;  ///< the iteration that was validated
  Scalars scalars = {};
  bool improved = false;                     ///< the best so far by the first [[best]] rule
  std::optional<ClassTable> confusion = {};  ///< empty unless it was asked for
  std::uint64_t replaced = 0;                ///< rows in which another record stood for a bad one
  /// Samples to look at, [data.val]'s first; null where none are asked for.
  std::shared_ptr<const std::vector<ShownSamples>> samples = {};
  std::vector<std::uint64_t> best = {};  ///< with `samples`: the iterations that the [[best]] rules keep, by now
  std::vector<TextSample> texts = {};    ///< prompts that the net has continued
};

/// Gets reports in their order from the compute thread, which must not wait: each logger has a queue and a thread of
/// its own, most by a TaskThread. A new logger is a file that ends with its entry, and a line in logger_list.h.
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
