#pragma once
// Temporary folders that are removed at the end.

#include <filesystem>
#include <string>

#include "sampling/core/error.h"

namespace flowtrain {

/// A new folder among the system's temporary files, removed with all its contents. The next process that makes one of
/// the same use removes the folders of processes that were killed.
class TemporaryFolder {
 public:
  /// `use` is a part of its name. Throws UserError(code) if it cannot be made.
  TemporaryFolder(const std::string& use, ExitCode code);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Removes the folder early; may be called any number of times.
  void remove() const noexcept;

 private:
  std::filesystem::path path_;
  int lock_ = -1;  // the folder itself, locked as long as this process needs it
};

}  // namespace flowtrain
