#include "pipeline/runs/run_reader/run_status.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <sstream>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/json_file.h"
#include "stages/system/host_name.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::array<std::string_view, 5> status_names{"running", "done", "stopped", "interrupted", "failed"};
constexpr std::chrono::seconds silent(120);

// Returns whether stat() and /proc/locks name a file's device differently.
bool hides_device(const fs::path& file) {
  struct statfs system {};
  return ::statfs(file.c_str(), &system) == 0 &&
         (system.f_type == OVERLAYFS_SUPER_MAGIC || system.f_type == BTRFS_SUPER_MAGIC);
}

bool is_elsewhere(const fs::path& folder) {
  const auto host = text_in(json_of_file(folder / "env.json"), "host");
  return host && !host->empty() && *host != host_name();
}

bool was_written_lately(const fs::path& folder) {
  std::error_code error;
  const auto time = fs::last_write_time(folder / "metrics.jsonl", error);
  return !error && fs::file_time_type::clock::now() - time < silent;
}

}  // namespace

std::string_view status_name(RunStatus status) { return status_names[static_cast<std::size_t>(status)]; }

// Parses lines such as "1: FLOCK  ADVISORY  WRITE 4711 08:01:131415 0 EOF"; "->" marks a process that waits.
bool lists_lock(std::istream& locks, dev_t device, ino_t inode, bool any_device) {
  const auto file = printed("%02x:%02x:%llu", major(device), minor(device), static_cast<unsigned long long>(inode));
  const auto any = printed(":%llu", static_cast<unsigned long long>(inode));
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, mode, access, process, place;
    words >> number >> kind >> mode >> access >> process >> place;
    if (kind == "FLOCK" && (place == file || (any_device && place.ends_with(any)))) return true;
  }
  return false;
}

// Looks for the lock in /proc/locks. Taking the lock could disturb a start.
bool is_locked(const fs::path& folder) {
  const auto lock = folder / "run.lock";
  struct stat state {};
  if (::stat(lock.c_str(), &state) != 0) return false;
  std::ifstream locks("/proc/locks");
  return lists_lock(locks, state.st_dev, state.st_ino, hides_device(lock));
}

bool seems_running(const fs::path& folder) {
  return is_locked(folder) || (was_written_lately(folder) && is_elsewhere(folder));
}

bool is_current(const ordered_json& result, std::uint64_t iteration) {
  const auto reached = number_in<std::uint64_t>(result, "iteration");
  return reached && *reached >= iteration;
}

RunOutcome outcome_of(const fs::path& folder, std::uint64_t iteration, bool ended) {
  RunOutcome outcome{ended ? RunStatus::done : RunStatus::failed};
  const auto result = json_of_file(folder / "result.json");
  if (!is_current(result, iteration)) return outcome;
  const auto how = std::ranges::find(status_names, text_in(result, "ended").value_or("done"));
  if (how != status_names.end()) outcome.status = static_cast<RunStatus>(how - status_names.begin());
  outcome.why = text_in(result, "why");
  outcome.seconds = number_in<double>(result, "seconds");
  return outcome;
}

RunOutcome status_of(const fs::path& folder, std::uint64_t iteration, bool ended) {
  const bool runs = is_locked(folder) || (!ended && seems_running(folder));
  return runs ? RunOutcome{RunStatus::running} : outcome_of(folder, iteration, ended);
}

}  // namespace flowtrain
