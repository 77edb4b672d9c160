#pragma once
// Whether a run goes on, and how it ended: the one answer of the list, of the pages and of the terminal.

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace flowtrain {

enum class RunStatus {
  running,
  done,         ///< it has reached its end
  stopped,      ///< a rule has stopped it early
  interrupted,  ///< by a signal, after a snapshot
  failed,       ///< it was killed, or ended with an error
};
/// "running", "done" …
std::string_view status_name(RunStatus status);

/// The state of a run.
struct RunOutcome {
  RunStatus status = RunStatus::failed;
  std::optional<std::string> why = {};  ///< the reason why it stopped, if known
  std::optional<double> seconds = {};   ///< seconds of training over all starts; set if the run ended normally
};

/// Whether a process of this machine holds the lock of the run in `folder`. The lock is not touched.
bool is_locked(const std::filesystem::path& folder);

/// Whether `locks`, the text of /proc/locks, has a flock of the file with this inode. Its device counts unless
/// `any_device`: some file systems (overlay, btrfs) tell programs another device than locks.
bool lists_lock(std::istream& locks, dev_t device, ino_t inode, bool any_device);

/// is_locked(), or a run of another machine that has written to metrics.jsonl in the last two minutes: its lock is not
/// seen here.
bool seems_running(const std::filesystem::path& folder);

/// Whether result.json, `result`, is of a run that came as far as `iteration`. That of an earlier start says nothing of
/// a run that went on.
bool is_current(const nlohmann::ordered_json& result, std::uint64_t iteration);

/// Returns the outcome of a run that no process writes. `iteration`: the last one in metrics.jsonl; `ended`: it has a
/// line of kind end there.
RunOutcome outcome_of(const std::filesystem::path& folder, std::uint64_t iteration, bool ended);

/// Returns the outcome of a run that a process may still write.
RunOutcome status_of(const std::filesystem::path& folder, std::uint64_t iteration, bool ended);

}  // namespace flowtrain
