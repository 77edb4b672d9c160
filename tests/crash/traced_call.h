#pragma once
// One system call of a traced process: which file it is about, and what it does to it.

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace flowtrain {

/// What a call does, as far as a disk is concerned.
enum class Action {
  look,  ///< changes nothing: stat, getdents, readlink …
  read,
  open,
  write,
  resize,
  sync,
  close,
  rename,
  link,
  symlink,
  unlink,
  make_folder,
  remove_folder,
  unmodelled,  ///< changes a file in a way that disk_states.h does not know
  report       ///< no call on a file: a line that the process said
};

struct TracedCall {
  std::string name;  ///< "openat"
  Action action = Action::look;
  std::filesystem::path path = {};    ///< absolute; where a descriptor was given, the place of its file at that time
  std::filesystem::path second = {};  ///< rename, link: the new place
  std::string text = {};              ///< symlink: what it points at; report: the line
  std::uint64_t flags = 0;            ///< of open and renameat2
  std::uint64_t offset = 0;           ///< write: where in the file; resize: the new size; in bytes
  std::vector<std::byte> data = {};   ///< write: what was asked to be written
  long result = 0;                    ///< what it returned; a negative errno for a failure
};

/// Number and arguments of a call, as the registers hold them when it begins.
struct RawCall {
  long number = 0;
  std::array<std::uint64_t, 6> arguments{};
};

/// What a call of the stopped process `pid` is about; nothing for a call that names no file.
std::optional<TracedCall> decode_call(pid_t pid, const RawCall& raw);

}  // namespace flowtrain
