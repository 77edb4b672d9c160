#pragma once
// Pictures that appear in a folder.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/inference/predict/input.h"

namespace flowtrain {

/// Looks at a folder and those below it again and again. Works on any file system, also where a server writes the
/// files, which the kernel does not tell of.
class FolderWatch {
 public:
  /// What is there now does not count as new. Throws UserError(data) where it cannot be listed.
  explicit FolderWatch(std::string folder);
  /// The picture files that are new, or were written again, and have not changed since the look before: so a file that
  /// is still being written waits. Sorted by name. A look that fails, since a folder was removed meanwhile, finds
  /// nothing.
  std::vector<Input> look();

 private:
  /// Size in bytes, and time of the last change in nanoseconds.
  using Version = std::pair<std::uint64_t, std::int64_t>;
  using Versions = std::map<std::string, Version>;

  Versions list() const;

  const std::string folder_;
  Versions known_;  // as they were told, or at the start
  Versions last_;   // of the last look
};

}  // namespace flowtrain
