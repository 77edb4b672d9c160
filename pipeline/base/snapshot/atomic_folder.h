#pragma once
// Folders, files and links that exist completely or not at all, whatever interrupts the process: each is written under
// a temporary name beside its place, synced, and renamed.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "pipeline/base/snapshot/file.h"
#include "sampling/core/error.h"

namespace flowtrain {

/// A folder that is called `<target>.tmp-<pid>-<number>` until commit(). Without a commit the destructor removes it.
/// All members throw system_error(); after that only destruction makes sense.
class AtomicFolder {
 public:
  /// Makes the temporary folder; the one above `target` must exist.
  explicit AtomicFolder(const std::filesystem::path& target);
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;
  ~AtomicFolder();

  /// Creates the file `name` inside. The caller syncs and closes it before commit().
  File create_file(const std::string& name, unsigned mode = 0666) { return File::create(temporary_ / name, mode); }
  /// Creates the file `name` inside, lets `body` write it, and syncs it.
  void write_file(const std::string& name, const std::function<void(File&)>& body, unsigned mode = 0666);
  void write_file(const std::string& name, std::string_view text, unsigned mode = 0666);

  /// Renames the folder to `target`, replacing an existing one, and returns when that is durable.
  void commit();

 private:
  void replace_target();

  std::filesystem::path target_;
  std::filesystem::path temporary_;
  bool committed_ = false;
};

/// Writes a file atomically: `body` writes, then sync, rename over `target`, sync of its folder.
void write_file_atomically(const std::filesystem::path& target, const std::function<void(File&)>& body,
                           unsigned mode = 0666);
/// Writes a text to a file atomically.
void write_file_atomically(const std::filesystem::path& target, std::string_view text);
/// Writes a configuration atomically. Only its owner may read one that holds a secret: config_mode().
void write_config(const std::filesystem::path& target, std::string_view toml);
/// Returns the permissions of a configuration's file: 0600 if it holds a secret, which a resumed run needs.
unsigned config_mode(std::string_view toml);

/// The error for a link that could not be made or moved. The target of the link exists.
class LinkError : public UserError {
 public:
  explicit LinkError(const UserError& reason) : UserError(reason.code(), reason.what(), reason.hint()) {}
};

/// Makes `folder/link` a symbolic link to `name` (relative to `folder`), atomically. Throws LinkError.
void swap_link(const std::filesystem::path& folder, const std::string& link, const std::string& name);

/// Replaces the folder `place` by a symbolic link to `name`; the folder moves to `name` beside it, or is removed
/// without `moves`. Throws LinkError, with the folder unchanged, if the disk has no links.
void replace_by_link(const std::filesystem::path& place, const std::string& name, bool moves);

/// Renames `path` out of the way, to `.trash-<name>-<pid>-<number>` beside it, and then removes it. A crash in between
/// leaves a name that is never taken for the complete folder. Throws system_error() if it cannot be renamed.
void trash(const std::filesystem::path& path);

/// Returns whether a file's name is one of the temporary names above, which a crash may leave behind.
bool is_leftover(std::string_view name);

}  // namespace flowtrain
