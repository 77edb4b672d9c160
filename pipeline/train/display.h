#pragma once
// The display branch: the progress bar, log lines and metrics.jsonl, on a thread of its own, in step order.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "pipeline/telemetry/metrics.h"
#include "pipeline/telemetry/progress.h"
#include "stages/compute.h"
#include "stages/evaluation/class_table.h"

namespace flowtrain {

/// An iteration as seen by the compute thread. Figures that were not fetched are not finite.
struct StepEvent {
  std::uint64_t iteration = 0, epoch = 0;  ///< epoch from 0
  double loss = std::numeric_limits<double>::quiet_NaN(), grad_norm = loss;
  double loss_avg = 0, lr = 0;
  double clipped = 0;  ///< share of the iterations since the last report whose gradients were clipped
  double samples_per_s = 0, data_wait = 0;  ///< since the last report
  double data_time_s = 0, step_time_s = 0;  ///< means per iteration since the last report
  double eta_s = 0;
  int slowest_rank = -1;           ///< that the others wait for; -1 where one process trains
  double slowest_s = 0;            ///< its own time per iteration: data and computing
  int slowest_link = -1;           ///< the rank whose way to the others is slowest
  double link_s = 0;               ///< how long a word takes on it, at most
  double exchange_s = 0;           ///< gradients on their way, per iteration, as the slowest rank sees it
  double exchange_hidden = 0;      ///< the part of that which backward hides
  bool report = false;             ///< write a line, not only move the bar
  bool left_out = false;           ///< an error kept it from being computed: there was no update
  const char* recovery = nullptr;  ///< what was done about figures that are not finite: "skipped", …
};

/// Shows what it is told. One thread calls; events are shown in their order. An error on the way (no memory, say) is
/// thrown by a later call of step() or finish().
class Display {
 public:
  /// Reports that may wait to be shown.
  static constexpr std::size_t depth = 64;

  /// `metrics` may be null (runs without a folder).
  Display(ProgressMode mode, std::uint64_t max_iterations, MetricsFile* metrics);
  ~Display();
  Display(const Display&) = delete;

  /// `figures`: what else is known of the step; written with those that are to be reported.
  void step(const StepEvent& event, const Figures& figures);
  /// After its last iteration: means over an epoch (from 0).
  void epoch(std::uint64_t iteration, std::uint64_t epoch, Figures means);
  /// `confusion` (may be null) becomes confusion.csv, beside metrics.jsonl: that of the newest validation. `replaced`:
  /// rows in which another record stood for a bad one.
  void validation(std::uint64_t iteration, Figures figures, bool improved, const ClassTable* confusion = nullptr,
                  std::uint64_t replaced = 0);
  /// Shows everything there is, and ends the thread and the bar.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowtrain
