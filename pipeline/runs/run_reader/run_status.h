#pragma once
// Finds out whether a run trains and how it ended; the list, the pages and the terminal all use this.

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
  done,         ///< the run has reached its end
  stopped,      ///< a rule has stopped it early
  interrupted,  ///< a signal has ended it, after a snapshot
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

/// Returns whether a process of this machine holds the lock of the run in `folder`. The lock is not touched.
bool is_locked(const std::filesystem::path& folder);

/// Returns whether `locks`, the text of /proc/locks, has a flock of the file with this inode. Its device counts unless
/// `any_device`: some file systems (overlay, btrfs) show programs another device than /proc/locks has.
bool lists_lock(std::istream& locks, dev_t device, ino_t inode, bool any_device);

/// Returns is_locked(), or true for a run of another machine, whose lock cannot be seen here, if it has written to
/// metrics.jsonl in the last two minutes.
bool seems_running(const std::filesystem::path& folder);

/// Returns whether result.json, `result`, belongs to a run that reached `iteration`. That of an earlier start does not
/// describe a run that has continued since.
bool is_current(const nlohmann::ordered_json& result, std::uint64_t iteration);

/// Returns the outcome of a run that no process writes. `iteration`: metrics.jsonl's last; `ended`: it has a line end.
RunOutcome outcome_of(const std::filesystem::path& folder, std::uint64_t iteration, bool ended);

/// Returns the outcome of a run that a process may still write.
RunOutcome status_of(const std::filesystem::path& folder, std::uint64_t iteration, bool ended);

}  // namespace flowtrain
