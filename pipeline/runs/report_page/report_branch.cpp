#include "pipeline/runs/report_page/report_branch.h"

#include <algorithm>
#include <utility>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/telemetry/log.h"
#include "sampling/core/text.h"

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

std::chrono::steady_clock::duration first_pause(const std::filesystem::path& folder) {
  const std::chrono::duration<double> guess(static_cast<double>(size_of(folder / "metrics.jsonl")) / bytes_per_second);
  return std::max<std::chrono::steady_clock::duration>(
      first_after, std::chrono::duration_cast<std::chrono::steady_clock::duration>(pause_by_cost * guess));
}

}  // namespace

ReportBranch::ReportBranch(std::filesystem::path folder)
    : warnings_(folder / "train.log"),
      run_{std::move(folder), ReportedRun::State::running, {}, &warnings_},
      due_(Clock::now() + first_pause(run_.folder)),
      thread_(
          {.name = "ft-report",
           .depth = 1,
           .warn =
               [](auto& error) { log_warn(concat("cannot write report.html: ", error.what(), "; the run continues")); },
           .pause = [this] { return due_ - Clock::now(); },
           .after_pause = [this] { update(); }}) {}

ReportBranch::~ReportBranch() {
  over_ = true;
  thread_.finish();
}

void ReportBranch::update() {
  if (over_) {
    run_.state = ReportedRun::State::over;
    run_.error = error_;
    return write();
  }
  const auto begin = Clock::now();
  due_ = begin + least_pause;
  const auto size = size_of(run_.folder / "metrics.jsonl");
  if (size == std::exchange(shown_, size)) return;
  write();
  const auto end = Clock::now();
  due_ = end + std::max<Clock::duration>(least_pause, pause_by_cost * (end - begin));
}

void ReportBranch::write() const {
  write_file_atomically(run_.folder / "report.html", render_report({run_}, {.page_folder = run_.folder}));
}

}  // namespace flowtrain
