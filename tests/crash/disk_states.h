#pragma once
// The states that a power cut may leave on a disk, after T. S. Pillai et al., "All File Systems Are Not Created Equal:
// On the Complexity of Crafting Crash-Consistent Applications", OSDI'14 (ALICE). The model promises no more than POSIX
// does: until its file is synced, a write may be lost, torn at a sector or leave other bytes; until its folder is
// synced, a new, renamed or removed name may be lost; and any of these without the others.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "tests/crash/disk_log.h"

namespace flowtrain {

/// What lies on the disk after a power cut.
struct DiskState {
  struct Entry {
    DiskNode::Kind kind;
    std::string content;  ///< a file's bytes, a link's target
  };
  std::map<std::string, Entry> entries;  ///< by path relative to the watched folder; folders before what is in them
  std::size_t steps = 0;                 ///< how many steps of the log had been taken when the power went
};

/// Calls `visit` with up to `limit` different states, from power cuts after each step: all states of a point where they
/// are few, otherwise those that keep or lose one step alone, and then random ones (of `seed`; the same on any
/// machine). Two states are different when the content is, or what had been reported. Returns their number.
std::uint64_t for_each_state(const DiskLog& log, std::uint64_t limit, std::uint64_t seed,
                             const std::function<void(const DiskState&)>& visit);

/// Makes `folder`, replacing what is there, and in it what `state` says. Throws std::filesystem::filesystem_error.
void materialise(const DiskState& state, const std::filesystem::path& folder);

}  // namespace flowtrain
