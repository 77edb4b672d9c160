#pragma once
// Which snapshot of a run a command means: `flowtrain test RUN` and `flowtrain snapshot export RUN` mean the same.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace flowtrain {

/// What the command line says: at most one of the two.
struct SnapshotWish {
  std::optional<std::uint64_t> iteration = {};  ///< --iter
  std::filesystem::path snapshot = {};  ///< --snapshot: a folder, or a name in the run's snapshots/: latest, best
};

struct ChosenSnapshot {
  std::filesystem::path path;
  std::string why = {};  ///< "the best" or "the newest"; empty where it was wished for
};

/// The one that is wished for; else the best one (the link `best`), or where there is none the newest good one. Throws
/// UserError(snapshot) where there is none of that iteration, or none at all.
ChosenSnapshot choose_snapshot(const std::filesystem::path& snapshots_dir, const SnapshotWish& wish);

/// The newest good one. Throws UserError(snapshot) where there is none, with what is wrong with the newest.
std::filesystem::path newest_good(const std::filesystem::path& snapshots_dir);

}  // namespace flowtrain
