#include "pipeline/runs/report_page/report_branch.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/telemetry/log.h"
#include "sampling/io/held_folder.h"
#include "stages/system/named_thread.h"

namespace flowtrain {

namespace {

using namespace std::chrono_literals;

constexpr auto first_after = 5s, least_pause = 30s;
constexpr int pause_by_cost = 100;  // a page costs at most 1 % of the time
constexpr double bytes_per_second =
    30e6;  // a careful guess of the speed at which metrics.jsonl is read, until the first page is made

std::uintmax_t size_of(const std::filesystem::path& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  return error ? 0 : size;
}

}  // namespace

ReportBranch::ReportBranch(std::filesystem::path folder)
    : warnings_(folder / "train.log"),
      run_{std::move(folder), ReportedRun::State::running, {}, &warnings_},
      thread_(named_thread("ft-report", [this] { loop(); })) {}

ReportBranch::~ReportBranch() {
  {
    MutexLock lock(mutex_);
    ends_ = true;
  }
  ended_.notify_all();
  thread_.join();
  run_.state = ReportedRun::State::over;
  run_.error = std::move(error_);
  write();
}

// Returns false when the run is over.
bool ReportBranch::wait_until(Clock::time_point time) {
  MutexLock lock(mutex_);
  while (!ends_ && Clock::now() < time) ended_.wait_until(lock, time);
  return !ends_;
}

void ReportBranch::loop() {
  const auto metrics = run_.folder / "metrics.jsonl";
  const std::chrono::duration<double> guess(static_cast<double>(size_of(metrics)) / bytes_per_second);
  auto due = Clock::now() +
             std::max<Clock::duration>(first_after, std::chrono::duration_cast<Clock::duration>(pause_by_cost * guess));
  for (std::uintmax_t shown = 0; wait_until(due);) {
    const auto begin = Clock::now();
    const auto size = size_of(metrics);
    if (size != std::exchange(shown, size)) write();
    const auto end = Clock::now();
    due = end + std::max<Clock::duration>(least_pause, pause_by_cost * (end - begin));
  }
}

void ReportBranch::write() noexcept try {
  write_file_atomically(run_.folder / "report.html", render_report({run_}, {.page_folder = run_.folder}));
} catch (const FolderLost&) {  // the trainer notices this, too, and ends the run
} catch (const std::exception& error) {
  if (!std::exchange(warned_, true))
    log_warn(concat("cannot write report.html: ", error.what(), "; the run continues"));
}

}  // namespace flowtrain
