#include "pipeline/base/snapshot/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <memory>
#include <system_error>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/io/held_folder.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

const char* hint_for(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return "free some space, or keep fewer snapshots: --set snapshot.keep_last=2";
    case EACCES:
    case EPERM:
    case EROFS: return "check the folder's permissions, or choose another with --run-dir";
    case EIO: return "check the disk (dmesg)";
    default: return "";
  }
}

/// Repeats a system call while a signal interrupts it; returns its result.
auto uninterrupted(const auto& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

int open_descriptor(const fs::path& path, int flags, unsigned mode = 0) {
  const int descriptor = uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); });
  if (descriptor < 0) throw system_error(path, "open", errno);
  return descriptor;
}

/// Returns 0 or an errno.
int sync_descriptor(int descriptor) {
  return uninterrupted([&] { return ::fsync(descriptor); }) == 0 ? 0 : errno;
}

struct stat status_of(const fs::path& path, int descriptor) {
  struct stat status;
  if (::fstat(descriptor, &status) != 0) throw system_error(path, "fstat", errno);
  return status;
}

}  // namespace

UserError system_error(const fs::path& path, const char* call, int error) {
  return UserError(ExitCode::snapshot, path.string() + ": " + call + ": " + std::generic_category().message(error),
                   hint_for(error));
}

File File::create(const fs::path& path, unsigned mode) {
  check_held(path);
  return File(path, open_descriptor(path, O_WRONLY | O_CREAT | O_EXCL, mode));
}

File File::open(const fs::path& path) {
  // O_NONBLOCK keeps a pipe in the file's place from blocking us. A regular file ignores it.
  File file(path, open_descriptor(path, O_RDONLY | O_NONBLOCK));
  if (!S_ISREG(status_of(path, file.descriptor_).st_mode))
    throw UserError(ExitCode::snapshot, path.string() + ": not a regular file");
  return file;
}

File::File(File&& other) noexcept : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void File::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto written = uninterrupted([&] { return ::write(descriptor_, bytes.data(), bytes.size()); });
    if (written < 0) throw system_error(path_, "write", errno);
    if (written == 0) throw system_error(path_, "write", EIO);  // prevents an endless loop
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void File::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

std::size_t File::read(std::span<std::byte> into) {
  const auto got = uninterrupted([&] { return ::read(descriptor_, into.data(), into.size()); });
  if (got < 0) throw system_error(path_, "read", errno);
  return static_cast<std::size_t>(got);
}

std::uint64_t File::size_bytes() const { return static_cast<std::uint64_t>(status_of(path_, descriptor_).st_size); }

void File::sync() {
  if (const int error = sync_descriptor(descriptor_)) throw system_error(path_, "fsync", error);
}

void File::close() {
  // Linux releases the descriptor even if close() fails, also with EINTR, and synced data stays so.
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) throw system_error(path_, "close", errno);
}

MappedFile::MappedFile(const fs::path& path) {
  const File file = File::open(path);
  size_bytes_ = file.size_bytes();
  if (size_bytes_ == 0) return;  // mmap refuses empty files
  void* data = ::mmap(nullptr, size_bytes_, PROT_READ, MAP_PRIVATE, file.descriptor_, 0);
  if (data == MAP_FAILED) throw system_error(path, "mmap", errno);
  data_ = static_cast<const std::byte*>(data);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_bytes_);
}

std::string read_text(const fs::path& path, std::uint64_t limit_bytes) {
  File file = File::open(path);
  const auto size_bytes = file.size_bytes();
  if (size_bytes > limit_bytes)
    throw UserError(ExitCode::snapshot, path.string() + ": " + std::to_string(size_bytes) + " bytes, at most " +
                                            std::to_string(limit_bytes) + " expected");
  std::string text(size_bytes, '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const auto got = file.read(std::as_writable_bytes(std::span(text)).subspan(filled));
    if (got == 0) throw UserError(ExitCode::snapshot, path.string() + ": became shorter while it was read");
    filled += got;
  }
  return text;
}

void make_folders(const fs::path& folder) {
  check_held(folder);
  const auto parent = folder_of(folder);
  if (::mkdir(folder.c_str(), 0777) == 0) return sync_folder(parent);
  if (errno == EEXIST) {
    struct stat status;
    if (::stat(folder.c_str(), &status) != 0) throw system_error(folder, "stat", errno);
    if (!S_ISDIR(status.st_mode)) throw system_error(folder, "mkdir", ENOTDIR);
    return;
  }
  if (errno != ENOENT || parent == folder) throw system_error(folder, "mkdir", errno);
  make_folders(parent);
  if (::mkdir(folder.c_str(), 0777) != 0) throw system_error(folder, "mkdir", errno);
  sync_folder(parent);
}

void sync_folder(const fs::path& folder) {
  const int descriptor = open_descriptor(folder, O_RDONLY | O_DIRECTORY);
  const int error = sync_descriptor(descriptor);
  ::close(descriptor);  // no data was written through it
  // EINVAL means a file system without fsync of folders (some of FUSE's), which cannot do better.
  if (error != 0 && error != EINVAL) throw system_error(folder, "fsync", error);
}

std::vector<std::string> names_in(const fs::path& folder) {
  // std::filesystem::directory_iterator is not used: libstdc++'s ends the program when memory runs out.
  std::unique_ptr<DIR, int (*)(DIR*)> stream(nullptr, ::closedir);
  do stream.reset(::opendir(folder.c_str()));
  while (!stream && errno == EINTR);
  if (!stream && errno == ENOENT) return {};
  if (!stream) throw system_error(folder, "opendir", errno);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;  // readdir() returns null at the end, too
    const dirent* entry = ::readdir(stream.get());
    if (!entry && errno != 0) throw system_error(folder, "readdir", errno);
    if (!entry) break;
    if (const std::string name = entry->d_name; name != "." && name != "..") names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

fs::path folder_of(const fs::path& path) {
  // "a/b/" names the same folder as "a/b"
  const auto parent = path.has_filename() ? path.parent_path() : path.parent_path().parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

void rename_path(const fs::path& from, const fs::path& to) {
  check_held(to);
  if (::rename(from.c_str(), to.c_str()) != 0) throw system_error(to, "rename", errno);
}

bool remove_quietly(const fs::path& path) noexcept {
  // std::filesystem::remove_all is not used: libstdc++'s ends the program when memory runs out.
  try {
    if (::unlink(path.c_str()) == 0 || errno == ENOENT) return true;
    if (errno != EISDIR) return false;
    bool gone = true;
    for (const auto& name : names_in(path)) gone &= remove_quietly(path / name);
    return gone && ::rmdir(path.c_str()) == 0;
  } catch (const std::exception&) {  // a folder that cannot be read, or no memory
    return false;
  }
}

}  // namespace flowtrain
