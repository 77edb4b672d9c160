#include "pipeline/snapshot/choice.h"

#include "pipeline/snapshot/snapshot_files.h"
#include "sampling/error.h"

namespace flowtrain {

namespace fs = std::filesystem;

ChosenSnapshot choose_snapshot(const fs::path& snapshots_dir, const SnapshotWish& wish) {
  if (wish.iteration) return {find_iteration(snapshots_dir, *wish.iteration)};
  std::error_code error;
  if (!wish.snapshot.empty()) {
    const bool is_name = !fs::exists(wish.snapshot, error) && fs::exists(snapshots_dir / wish.snapshot, error);
    return {is_name ? snapshots_dir / wish.snapshot : wish.snapshot};
  }
  if (fs::exists(snapshots_dir / "best", error)) return {snapshots_dir / "best", "the best"};
  return {newest_good(snapshots_dir), "the newest"};
}

fs::path newest_good(const fs::path& snapshots_dir) {
  const auto newest = find_newest(snapshots_dir);
  if (newest.path) return *newest.path;
  if (newest.passed_over.empty()) throw UserError(Exit::snapshot, "no snapshot in " + snapshots_dir.string());
  throw UserError(Exit::snapshot,
                  "no good snapshot in " + snapshots_dir.string() + ": " + newest.passed_over.front().reason,
                  "flowtrain snapshot verify names all the damage");
}

}  // namespace flowtrain
