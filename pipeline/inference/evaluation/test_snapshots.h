#pragma once
// The snapshots that `flowtrain test` measures.

#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/base/snapshot/snapshot_files.h"

namespace flowtrain {

/// The snapshots that a command line selects.
struct SnapshotSelection {
  std::vector<std::string> iterations = {};  ///< --iter: "500", or "100..500" for all in that range
  std::vector<std::string> snapshots = {};   ///< --snapshot: folders, best, latest, or all
};

/// Returns the selected snapshots in the given order, those of a range and of "all" by iteration, each once; by default
/// the one that choose_snapshot() takes. Throws UserError: usage for an invalid selection, snapshot if there is none.
std::vector<ChosenSnapshot> test_snapshots(const std::filesystem::path& snapshots_dir,
                                           const SnapshotSelection& selection);

}  // namespace flowtrain
