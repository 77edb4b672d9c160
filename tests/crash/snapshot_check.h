#pragma once
// Checks that a folder of snapshots is valid after any accident, against contents that are known beforehand.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/base/snapshot/snapshot_files.h"

namespace flowtrain {

/// A small snapshot's content; every byte follows from the iteration. The content views this object's bytes.
class KnownContent {
 public:
  explicit KnownContent(std::uint64_t iteration);
  const SnapshotContent& content() const { return content_; }

 private:
  std::vector<std::vector<std::byte>> bytes_;
  SnapshotContent content_;
};

/// What the one who saves has been told.
struct Promise {
  std::uint64_t saved = 0;  ///< the newest iteration whose save returned; 0: none
  std::uint64_t best = 0;   ///< the iteration that was marked best; 0: none
  std::uint64_t last = 0;   ///< the newest whose save may have begun

  /// Takes in a line: "saved 3", "best 2"; others say nothing about it.
  void take(const std::string& line);
};

/// Whether find_newest() gives the newest saved snapshot, or a newer whole one, byte by byte what was saved, and links
/// lead to good ones. Returns what is wrong; empty where nothing is.
std::string check_promise(const std::filesystem::path& snapshots_dir, const Promise& promise);

/// Saves KnownContent(iteration) and checks that it can be read and that nothing temporary is left. Returns what is
/// wrong; empty where nothing is.
std::string check_next_save(const std::filesystem::path& snapshots_dir, std::uint64_t iteration);

}  // namespace flowtrain
