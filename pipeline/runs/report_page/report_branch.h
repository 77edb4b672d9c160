#pragma once
// Keeps a run's report.html up to date, beside training.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "pipeline/base/telemetry/run_page.h"
#include "pipeline/base/telemetry/task_thread.h"
#include "pipeline/runs/report_page/report_page.h"

namespace flowtrain {

/// Writes report.html beside metrics.jsonl, on a thread of its own: soon after the start, then at most each 30 s and
/// with at most 1 % of the time, and when it is destroyed. It reads the run's files, so training does no work for it.
/// If a page cannot be written, it warns once.
class ReportBranch : public RunPage {
 public:
  /// `folder` is the run's.
  explicit ReportBranch(std::filesystem::path folder);
  /// Writes the last page.
  ~ReportBranch() override;
  ReportBranch(const ReportBranch&) = delete;

  void failed(std::string error) override { error_ = std::move(error); }

 private:
  using Clock = std::chrono::steady_clock;

  void update();
  void write() const;

  LogWarnings warnings_;
  std::string error_;  // kept apart from run_.error, which the branch's thread reads
  std::atomic<bool> over_ = false;
  // State of the thread:
  ReportedRun run_;
  Clock::time_point due_;     // the time of the next page
  std::uintmax_t shown_ = 0;  // the size of metrics.jsonl when the last page was made
  TaskThread thread_;         // last, because it uses all of the above
};

}  // namespace flowtrain
