#pragma once
// The effects of a sequence of system calls on a disk, as steps that a power cut may keep or lose.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tests/crash/traced_call.h"

namespace flowtrain {

/// A file, folder or symbolic link; names come and go, a node stays. Number 0 is the folder that was watched.
struct DiskNode {
  enum Kind { file, folder, link };
  Kind kind = file;
  std::string target = {};  ///< of a link
};

/// A name in a folder that now means `node`, or nothing (-1).
struct NameChange {
  int folder = 0;
  std::string name;
  int node = -1;
};

struct DiskStep {
  enum Kind { names, write, resize, sync, report };
  Kind kind = names;
  std::vector<NameChange> changes = {};  ///< names: all of them at once; a rename has two
  int node = 0;                          ///< write, resize, sync
  std::uint64_t offset = 0;              ///< write: of the first byte; resize: the new size
  std::vector<std::byte> data = {};      ///< write
  std::string line = {};                 ///< report
};

struct DiskLog {
  std::vector<DiskNode> nodes;
  std::vector<DiskStep> steps;
};

/// The steps of calls on files below `folder`, which was empty before. Throws InternalError for a call that changes
/// files in a way this model does not know.
DiskLog disk_log(const std::filesystem::path& folder, std::span<const TracedCall> calls);

}  // namespace flowtrain
