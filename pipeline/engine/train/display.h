#pragma once
// The display branch: the progress bar, log lines and metrics.jsonl, on a thread of its own, in step order.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "pipeline/base/telemetry/metrics.h"
#include "pipeline/base/telemetry/progress.h"
#include "pipeline/engine/train/logger.h"
#include "stages/core/bounded_queue.h"

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
  std::function<void()> wait_for_written() override;
  void finish() override;

 private:
  using Task = std::function<void()>;

  void show_later(Task task);
  void loop();
  void guarded(const Task& body);
  void check() const;
  void end();
  void show(const StepEvent& event, const Scalars& parts);
  void show(const ValidationEvent& validation);

  std::uint64_t max_iter_;
  MetricsFile* metrics_;
  bool groups_;
  ProgressDisplay progress_;
  BoundedQueue<Task*> queue_{depth};
  std::uint64_t queued_ = 0;  // tasks of the calling thread
  // The number of tasks that are done. A snapshot that waits for them may outlive the display.
  std::shared_ptr<std::atomic<std::uint64_t>> shown_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::optional<int> slowest_rank_;  // in the last report
  double cpu_share_ = 1;             // in the last report
  std::set<std::string> clashes_;    // names of metrics that clash with fields; each is logged once
  std::exception_ptr error_;         // set once, before failed_
  std::atomic<bool> failed_{false};
  std::jthread thread_;  // last, because it uses all of the above
};

}  // namespace flowtrain
