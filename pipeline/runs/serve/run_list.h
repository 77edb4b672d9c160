#pragma once
// Keeps the list of runs up to date.

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

/// Lists the runs under a folder, for any thread. It searches folders at most each second, and reads only what is new.
class RunList {
 public:
  explicit RunList(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// {"runs":[{"name":…,"status":…,"iteration":…,"last_iteration":…,"loss":…,"best":{"metric":…,"value":…,
  /// "iteration":…},"written_s":…}]}: unknown values are null; `written_s` in seconds since 1970.
  std::string json();
  /// Returns the run of this name; nothing if there is none.
  std::optional<FoundRun> find(const std::string& name);
  /// Returns the run with whose name the parts of a path begin, and the number of parts of the name.
  std::optional<std::pair<FoundRun, std::size_t>> find_prefix(const std::vector<std::string>& path, std::size_t first);

 private:
  const std::vector<FoundRun>& found() FT_REQUIRES(mutex_);

  const std::filesystem::path folder_;
  Mutex mutex_;
  std::vector<FoundRun> runs_ FT_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point next_search_
      FT_GUARDED_BY(mutex_){};  // at first the epoch, so that it is searched at once
  std::map<std::string, std::unique_ptr<RunWatcher>> watchers_ FT_GUARDED_BY(mutex_);  // by name
};

}  // namespace flowtrain::serve
