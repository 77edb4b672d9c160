#pragma once
// Folders that do not outlive those who make them.

#include <filesystem>
#include <string>

#include "sampling/core/error.h"

namespace flowtrain {

/// A new folder among the system's temporary files, removed with all that is in it. The next process that makes
/// one of the same use removes the folders of processes that were killed.
class TemporaryFolder {
 public:
  /// `use`: a part of its name. Throws UserError(code) where it cannot be made.
  TemporaryFolder(const std::string& use, ExitCode code);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Before its time; any number of times.
  void remove() const noexcept;

 private:
  std::filesystem::path path_;
  int lock_ = -1;  // the folder itself, locked for as long as this process lives and needs it
};

}  // namespace flowtrain
