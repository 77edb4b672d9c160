#include "pipeline/snapshot/choice.h"

#include <nlohmann/json.hpp>

#include "pipeline/snapshot/snapshot_files.h"
#include "sampling/core/error.h"

namespace flowtrain {

namespace fs = std::filesystem;

namespace {

// Where `best` is no link (in a copy of a run whose links became folders, on a disk without links) it may be an older
// one: what the newest good snapshot says is the best, if that is there.
std::optional<fs::path> best_by_state(const fs::path& snapshots_dir) {
  const auto newest = find_newest(snapshots_dir).path;
  if (!newest) return {};
  const auto state = nlohmann::json::parse(open_snapshot(*newest).state_json);
  const auto ranking = state.value("/best/best"_json_pointer, nlohmann::json::array());
  if (ranking.empty()) return {};
  const auto path = snapshots_dir / snapshot_name(ranking.front().at("iteration").get<std::uint64_t>());
  return fs::exists(path) ? std::optional(path) : std::nullopt;
}

}  // namespace

ChosenSnapshot choose_snapshot(const fs::path& snapshots_dir, const SnapshotWish& wish) {
  if (wish.iteration) return {find_iteration(snapshots_dir, *wish.iteration)};
  std::error_code error;
  if (!wish.snapshot.empty()) {
    const bool is_name = !fs::exists(wish.snapshot, error) && fs::exists(snapshots_dir / wish.snapshot, error);
    return {is_name ? snapshots_dir / wish.snapshot : wish.snapshot};
  }
  if (const auto best = snapshots_dir / "best"; fs::exists(best, error)) {
    const bool is_link = fs::is_symlink(best, error);
    return {is_link ? best : best_by_state(snapshots_dir).value_or(best), "the best"};
  }
  return {newest_good(snapshots_dir), "the newest"};
}

fs::path newest_good(const fs::path& snapshots_dir) {
  const auto newest = find_newest(snapshots_dir);
  if (newest.path) return *newest.path;
  if (newest.passed_over.empty()) throw UserError(ExitCode::snapshot, "no snapshot in " + snapshots_dir.string());
  throw UserError(ExitCode::snapshot,
                  "no good snapshot in " + snapshots_dir.string() + ": " + newest.passed_over.front().reason,
                  "flowtrain snapshot verify names all the damage");
}

}  // namespace flowtrain
