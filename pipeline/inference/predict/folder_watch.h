#pragma once
// Finds pictures that appear in a folder.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/inference/predict/input.h"

namespace flowtrain {

/// Lists a folder and those below it again and again. This works on any file system, even if a server writes the files,
/// of which the kernel sends no events.
class FolderWatch {
 public:
  /// Files that exist now do not count as new. Throws UserError(data) if the folder cannot be listed.
  explicit FolderWatch(std::string folder);
  /// Returns the picture files that are new or were written again, sorted by name. A file that changed since the last
  /// look waits, as it may be unfinished. A look that fails, because a folder was removed meanwhile, finds none.
  std::vector<Input> look();

 private:
  /// Size in bytes, and time of the last change in nanoseconds.
  using Version = std::pair<std::uint64_t, std::int64_t>;
  using Versions = std::map<std::string, Version>;

  Versions list() const;

  const std::string folder_;
  Versions known_;  // the versions that look() returned, or those at the start
  Versions last_;   // the versions at the last look
};

}  // namespace flowtrain
