#pragma once
// Event files for TensorBoard, in a run's folder.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "pipeline/base/telemetry/json_lines.h"
#include "pipeline/base/telemetry/task_thread.h"
#include "pipeline/engine/tensorboard/event_file.h"
#include "pipeline/engine/tensorboard/events.h"
#include "pipeline/engine/train/logger.h"

namespace flowtrain {

/// Writes tensorboard/events.out.tfevents.*: a file for each start of the run. It holds scalars of train, epoch and
/// validation lines, histograms, pictures of validations, and as text the configuration and the graph. The first
/// failure is a warning; so are reports that come faster than they are written, which are left out: training never
/// waits. Reports are written together, ten times a second: waking a thread for each would cost more than writing it.
class TensorBoard : public Logger {
 public:
  /// The number of reports that may wait.
  static constexpr std::size_t depth = 4096;

  /// `run` is its folder; empty: no file is written. `first` is the first iteration of this start, `config` is TOML.
  TensorBoard(std::filesystem::path run, std::uint64_t first, std::string config);
  ~TensorBoard() override;
  TensorBoard(const TensorBoard&) = delete;

  void begin(const Drawing& graph) override;
  void step(const StepEvent& event, const Scalars& scalars) override;
  void epoch(std::uint64_t iteration, std::uint64_t epoch, const Scalars& means) override;
  void validation(const ValidationEvent& event) override;
  void histograms(std::uint64_t iteration, const Histograms& all) override;
  std::function<void()> wait_for_written() override;
  void finish() override;

 private:
  void write_later(TaskThread::Task task);
  void warn(const std::string& what) const;
  void open(const Drawing& graph);
  void add(const SummaryEvent& event);
  void add_scalars(std::uint64_t iteration, const std::string& group, const JsonObject& fields);
  void add_pictures();
  void flush();
  void flush_all();

  const std::filesystem::path run_;
  const std::uint64_t first_;
  const std::string config_;
  std::atomic<bool> ends_ = false;
  // State of the thread:
  std::optional<EventFile> file_;
  std::string records_;                  // records that are not written yet
  std::uint64_t last_ = 0;               // iteration of the newest report
  bool reported_ = false;                // a report has come since pictures were looked for
  std::set<std::uint64_t> pictures_;     // iterations whose pictures are written
  std::set<std::uint64_t> validations_;  // iterations whose validations earlier starts have written
  std::optional<TaskThread> tasks_;      // empty: no file is written; last, because its tasks use all of the above
};

}  // namespace flowtrain
