#pragma once
// The display branch: the progress bar, log lines and metrics.jsonl, on a thread of its own, in step order.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "pipeline/base/telemetry/metrics.h"
#include "pipeline/base/telemetry/progress.h"
#include "pipeline/base/telemetry/task_thread.h"
#include "pipeline/engine/train/logger.h"
#include "stages/flight/flight.h"

namespace flowtrain {

/// Shows events in their order. One thread calls. An error of the display's thread (no memory, for example) is thrown
/// by a later call of step() or finish().
class Display : public Logger {
 public:
  /// The number of reports that may wait to be shown.
  static constexpr std::size_t depth = 64;

  /// `metrics` may be null (runs without a folder). With `groups` "accuracy.x" belongs to a group of val.group_by, not
  /// to a class.
  Display(ProgressMode mode, std::uint64_t max_iterations, MetricsFile* metrics, bool groups = false);
  ~Display() override;
  Display(const Display&) = delete;

  void step(const StepEvent& event, const Scalars& scalars) override;
  void epoch(std::uint64_t iteration, std::uint64_t epoch, const Scalars& means) override;
  /// Writes the confusion to confusion.csv, beside metrics.jsonl; the file has that of the newest validation.
  void validation(const ValidationEvent& event) override;
  std::function<void()> wait_for_written() override { return tasks_.wait_for_added(); }
  void finish() override;

 private:
  void show_later(TaskThread::Task task);
  void end();
  void show(const StepEvent& event, const Scalars& parts);
  void show(const ValidationEvent& validation);

  std::uint64_t max_iter_;
  MetricsFile* metrics_;
  bool groups_;
  ProgressDisplay progress_;
  const FlightQueue waiting_{"reports for the display", depth};
  std::optional<int> slowest_rank_;  // in the last report
  double cpu_share_ = 1;             // in the last report
  std::set<std::string> clashes_;    // names of metrics that clash with fields; each is logged once
  TaskThread tasks_{{.name = "ft-display", .depth = depth}};  // last, because its tasks use all of the above
};

}  // namespace flowtrain
