#pragma once
// Files for snapshots: every system call is checked, and an error names the file, the call and the reason.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/core/error.h"

namespace flowtrain {

/// Makes the error "PATH: CALL: No space left on device", exit 4; with a hint if `error` (an errno) has one.
UserError system_error(const std::filesystem::path& path, const char* call, int error);

/// An open file. Members throw system_error(); the destructor closes without an error.
class File {
 public:
  /// Creates a new file for writing, with the permissions `mode` minus the umask's; an existing one is an error.
  static File create(const std::filesystem::path& path, unsigned mode = 0666);
  /// Opens a regular file for reading; anything else (a pipe, a folder) is refused.
  static File open(const std::filesystem::path& path);

  File(File&& other) noexcept;
  File& operator=(File&&) = delete;
  ~File();

  /// Writes all of `bytes`, however many calls that takes.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Reads up to `into.size()` bytes; 0 only at the end of the file.
  std::size_t read(std::span<std::byte> into);
  std::uint64_t size_bytes() const;
  /// Calls fsync. After a failure the file counts as lost: a second fsync may succeed without having written anything
  /// (Rebello et al., "Can Applications Recover from fsync Failures?", USENIX ATC 2020).
  void sync();
  /// Closes the file. Network file systems report a failed write only here.
  void close();

  const std::filesystem::path& path() const { return path_; }

 private:
  friend class MappedFile;
  File(std::filesystem::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::filesystem::path path_;
  int descriptor_;  // -1: closed
};

/// A regular file's bytes, read-only. A read error of the disk is a SIGBUS here: hash the file with read() first.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_bytes_}; }

 private:
  const std::byte* data_ = nullptr;  // null for an empty file
  std::size_t size_bytes_ = 0;
};

/// Reads a whole file as text. Throws UserError(snapshot) for one of more than `limit_bytes`.
std::string read_text(const std::filesystem::path& path, std::uint64_t limit_bytes);

/// Makes `folder` and the missing ones above it durably: each new one's parent is synced.
void make_folders(const std::filesystem::path& folder);
/// Calls fsync on a folder, which makes the names in it durable.
void sync_folder(const std::filesystem::path& folder);
/// Returns the names in a folder, sorted; none if it does not exist.
std::vector<std::string> names_in(const std::filesystem::path& folder);
/// Returns the folder that `path` is in; "." for a bare name.
std::filesystem::path folder_of(const std::filesystem::path& path);
/// Calls rename(2).
void rename_path(const std::filesystem::path& from, const std::filesystem::path& to);
/// Removes a file or a whole folder as far as possible; returns true if nothing is left. It never throws.
bool remove_quietly(const std::filesystem::path& path) noexcept;

}  // namespace flowtrain
