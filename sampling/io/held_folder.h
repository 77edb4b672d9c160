#pragma once
// Folders that this process writes to only while their names lead to them.

#include <filesystem>
#include <string>

#include "sampling/core/error.h"

namespace flowtrain {

/// A folder that this process holds was removed, renamed or replaced: exit 4.
class FolderLost : public UserError {
 public:
  FolderLost(const std::string& message, const std::string& hint) : UserError(ExitCode::snapshot, message, hint) {}
};

/// Makes check_held() refuse paths in the folder, during its lifetime, once its name leads elsewhere: a run whose
/// folder was removed must not make it anew, nor write into that of another run. All code that writes files by their
/// path calls check_held() (pipeline/base/snapshot/file.h). Any thread.
class HeldFolder {
 public:
  /// `file` is the folder itself, or a file in it. `descriptor` has it open, and is closed by the destructor.
  HeldFolder(std::filesystem::path folder, std::filesystem::path file, int descriptor);
  /// Holds `folder` itself. Throws UserError(snapshot) if it cannot be opened.
  explicit HeldFolder(const std::filesystem::path& folder);
  HeldFolder(const HeldFolder&) = delete;
  HeldFolder& operator=(const HeldFolder&) = delete;
  ~HeldFolder();

  /// Throws FolderLost if the name leads elsewhere. A disk that does not answer is not a loss.
  void check() const;
  /// Returns whether check() throws.
  bool is_lost() const;
  const std::filesystem::path& path() const { return folder_; }
  /// Returns whether `path` is the folder, or lies in it, by its text.
  bool contains(const std::filesystem::path& path) const;

 private:
  std::filesystem::path folder_, absolute_, file_;
  int descriptor_;
};

/// Throws FolderLost if `path` lies in a held folder whose name leads elsewhere.
void check_held(const std::filesystem::path& path);

}  // namespace flowtrain
