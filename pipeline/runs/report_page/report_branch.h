#pragma once
// Keeps a run's report.html up to date, beside training.

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include "pipeline/base/telemetry/run_page.h"
#include "pipeline/runs/report_page/report_page.h"
#include "sampling/core/mutex.h"

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

  void loop();
  bool wait_until(Clock::time_point time) FT_EXCLUDES(mutex_);
  void write() noexcept;

  LogWarnings warnings_;
  ReportedRun run_;
  std::string error_;  // kept apart from run_.error, which the branch's thread reads
  bool warned_ = false;
  Mutex mutex_;
  CondVar ended_;
  bool ends_ FT_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // declared last, as the thread uses all members above
};

}  // namespace flowtrain
