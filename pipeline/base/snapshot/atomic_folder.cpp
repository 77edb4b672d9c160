#include "pipeline/base/snapshot/atomic_folder.h"

#include <fcntl.h>
#include <stdio.h>  // renameat2, which <cstdio> need not declare
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "sampling/core/error.h"
#include "sampling/core/secrets.h"
#include "sampling/io/held_folder.h"
#include "stages/flight/flight.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view temporary_mark = ".tmp-";
constexpr std::string_view trash_mark = ".trash-";

/// Returns `path` without a slash at its end, so that a suffix can be added.
fs::path bare(const fs::path& path) { return path.has_filename() ? path : path.parent_path(); }

/// Returns `folder/<start><pid>-<number>`, with the first number that no dead process of our pid has left behind.
fs::path free_name(const fs::path& folder, const std::string& start) {
  static std::atomic<unsigned> count = 0;
  while (true) {
    auto name = folder / (start + std::to_string(::getpid()) + "-" + std::to_string(count++));
    struct stat status;
    if (::lstat(name.c_str(), &status) != 0) return name;  // the caller reports any other error
  }
}

void write_synced(File file, const std::function<void(File&)>& body) {
  body(file);
  const FlightSpan flight({.name = "fsync"});
  file.sync();
  file.close();
}

fs::path temporary_name(const fs::path& target) {
  return free_name(folder_of(target), bare(target).filename().string() + std::string(temporary_mark));
}

fs::path trash_name(const fs::path& path) {
  return free_name(folder_of(path), std::string(trash_mark) + bare(path).filename().string() + "-");
}

/// Makes a symbolic link to `name` under a temporary name, which the caller renames to `place`.
fs::path make_link(const fs::path& place, const std::string& name) {
  check_held(place);
  auto temporary = temporary_name(place);
  if (::symlink(name.c_str(), temporary.c_str()) != 0) throw LinkError(system_error(temporary, "symlink", errno));
  return temporary;
}

}  // namespace

AtomicFolder::AtomicFolder(const fs::path& target) : target_(bare(target)), temporary_(temporary_name(target)) {
  check_held(target_);
  if (::mkdir(temporary_.c_str(), 0777) != 0) throw system_error(temporary_, "mkdir", errno);
}

AtomicFolder::~AtomicFolder() {
  if (!committed_) remove_quietly(temporary_);
}

void AtomicFolder::write_file(const std::string& name, const std::function<void(File&)>& body, unsigned mode) {
  write_synced(create_file(name, mode), body);
}

void AtomicFolder::write_file(const std::string& name, std::string_view text, unsigned mode) {
  write_file(
      name, [&](File& file) { file.write(text); }, mode);
}

void AtomicFolder::commit() {
  const FlightSpan flight({.name = "rename"});
  sync_folder(temporary_);
  check_held(target_);
  if (::rename(temporary_.c_str(), target_.c_str()) == 0) {
    committed_ = true;
    return sync_folder(folder_of(target_));
  }
  if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) throw system_error(target_, "rename", errno);
  replace_target();
}

void AtomicFolder::replace_target() {
  fs::path old = temporary_;
  // Swapping the two leaves no instant without a folder of this name.
  if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0) {
    if (errno != EINVAL && errno != ENOSYS) throw system_error(target_, "rename", errno);
    // The file system (NFS, for example) cannot swap: move the old one away, and back if the new one does not follow.
    old = trash_name(target_);
    rename_path(target_, old);
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
      const int error = errno;
      ::rename(old.c_str(), target_.c_str());
      throw system_error(target_, "rename", error);
    }
  }
  committed_ = true;
  sync_folder(folder_of(target_));  // a failure keeps the old one: the disk may still have it
  remove_quietly(old);
}

void write_file_atomically(const fs::path& target, const std::function<void(File&)>& body, unsigned mode) {
  const auto temporary = temporary_name(target);
  File file = File::create(temporary, mode);
  try {
    write_synced(std::move(file), body);
    rename_path(temporary, target);
  } catch (...) {
    remove_quietly(temporary);
    throw;
  }
  sync_folder(folder_of(target));
}

void write_file_atomically(const fs::path& target, std::string_view text) {
  write_file_atomically(target, [text](File& file) { file.write(text); });
}

void write_config(const fs::path& target, std::string_view toml) {
  write_file_atomically(
      target, [toml](File& file) { file.write(toml); }, config_mode(toml));
}

unsigned config_mode(std::string_view toml) { return holds_secret(toml) ? 0600 : 0666; }

void swap_link(const fs::path& folder, const std::string& link, const std::string& name) try {
  const auto temporary = make_link(folder / link, name);
  try {
    rename_path(temporary, folder / link);
  } catch (const UserError&) {
    remove_quietly(temporary);
    throw;
  }
  sync_folder(folder);
} catch (const UserError& error) {
  throw LinkError(error);
}

void replace_by_link(const fs::path& place, const std::string& name, bool moves) {
  const auto temporary = make_link(place, name);
  const auto away = moves ? folder_of(place) / name : trash_name(place);
  try {
    rename_path(place, away);
    rename_path(temporary, place);
  } catch (const UserError&) {
    remove_quietly(temporary);
    throw;
  }
  sync_folder(folder_of(place));
  if (!moves) remove_quietly(away);
}

void trash(const fs::path& path) {
  const auto away = trash_name(path);
  rename_path(path, away);
  remove_quietly(away);
}

bool is_leftover(std::string_view name) {
  return name.starts_with(trash_mark) || name.find(temporary_mark) != std::string_view::npos;
}

}  // namespace flowtrain
