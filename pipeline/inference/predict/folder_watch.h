#pragma once
// Finds pictures or recordings that appear in a folder.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/inference/predict/input.h"
#include "sampling/datasets/class_folders.h"

namespace flowtrain {

/// Lists a folder and those below it repeatedly. This works on any file system, also on one of a server.
class FolderWatch {
 public:
  /// Files that exist now do not count as new. Throws UserError(data) if the folder cannot be listed.
  explicit FolderWatch(std::string folder, const FileKind& kind = picture_files);
  /// Returns the files of the kind that are new or were written again, sorted by name. A file that changed since the
  /// last look waits, as it may be unfinished. A look that fails, because a folder was removed meanwhile, finds none.
  std::vector<Input> look();

 private:
  /// Size in bytes, and time of the last change in nanoseconds.
  using Version = std::pair<std::uint64_t, std::int64_t>;
  using Versions = std::map<std::string, Version>;

  Versions list() const;

  const std::string folder_;
  const FileKind& kind_;
  Versions known_;  // the versions that look() returned, or those at the start
  Versions last_;   // the versions at the last look
};

}  // namespace flowtrain
