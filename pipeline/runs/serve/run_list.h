#pragma once
// The list of runs, kept up to date.

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/runs/run_reader/run_summary.h"
#include "pipeline/runs/serve/run_folders.h"
#include "sampling/core/mutex.h"

namespace flowtrain::serve {

/// The runs under a folder. Any thread. Folders are searched at most each second, and files read as far as they are
/// new.
class RunList {
 public:
  explicit RunList(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// {"runs":[{"name":…,"status":…,"iteration":…,"last_iteration":…,"loss":…,"best":{"metric":…,"value":…,
  /// "iteration":…},"written_s":…}]}: null for what is not known; `written_s` in seconds since 1970.
  std::string json();
  /// The run of this name; nothing where there is none.
  std::optional<FoundRun> find(const std::string& name);
  /// The run whose name the parts of a path begin with, and how many parts the name has.
  std::optional<std::pair<FoundRun, std::size_t>> find_prefix(const std::vector<std::string>& path, std::size_t first);

 private:
  const std::vector<FoundRun>& found() FT_REQUIRES(mutex_);

  const std::filesystem::path folder_;
  Mutex mutex_;
  std::vector<FoundRun> runs_ FT_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point next_search_ FT_GUARDED_BY(mutex_){};          // the epoch: at once
  std::map<std::string, std::unique_ptr<RunWatcher>> watchers_ FT_GUARDED_BY(mutex_);  // by name
};

}  // namespace flowtrain::serve
