// The folder of snapshots: its content, the choice of one, and the removal of old ones.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/snapshot/manifest.h"
#include "pipeline/base/snapshot/snapshot_files.h"
#include "pipeline/base/telemetry/json_text.h"
#include "sampling/core/error.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

SnapshotInfo inspect(const fs::path& path, std::uint64_t iteration) {
  SnapshotInfo info{iteration, path, false, 0, {}};
  try {
    const auto manifest = read_manifest(path);
    for (const auto& file : manifest.files) {
      info.bytes += file.bytes;
      const auto actual = File::open(path / file.name).size_bytes();
      if (actual != file.bytes && info.reason.empty())
        info.reason =
            file.name + ": " + std::to_string(actual) + " bytes, the manifest says " + std::to_string(file.bytes);
    }
    if (manifest.iteration != iteration)
      info.reason = "manifest.json: it belongs to iteration " + std::to_string(manifest.iteration);
  } catch (const UserError& error) {
    info.reason = error.what();
  }
  info.complete = info.reason.empty();
  return info;
}

const char* const set_aside = "superseded";

/// Returns the iteration of the complete snapshot in a folder, whatever its name; nothing if it holds none.
std::optional<std::uint64_t> iteration_held(const fs::path& folder) {
  struct stat status;
  if (::lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return {};
  try {
    const auto iteration = read_manifest(folder).iteration;
    if (verify_snapshot(folder).empty()) return iteration;
  } catch (const UserError&) {  // a folder of another program
  }
  return {};
}

/// Returns whether two complete snapshots have the same files; their hashes are in the manifest.
bool same_manifest(const fs::path& one, const fs::path& other) {
  return manifest_text(read_manifest(one)) == manifest_text(read_manifest(other));
}

/// Returns the links of the folder and the iterations that they point at.
std::map<std::string, std::uint64_t> links_in(const fs::path& snapshots_dir) {
  std::map<std::string, std::uint64_t> links;
  for (const auto& name : names_in(snapshots_dir)) {
    std::error_code error;
    const auto target = fs::read_symlink(snapshots_dir / name, error);
    if (error == std::errc::invalid_argument) continue;  // it is not a link
    // An unreadable link might protect any snapshot.
    if (error) throw system_error(snapshots_dir / name, "readlink", error.value());
    if (const auto iteration = snapshot_iteration(target.filename().string())) links[name] = *iteration;
  }
  return links;
}

// The link `best` may be a folder (in a copy of a run whose links became folders, on a disk without links) and
// outdated: the newest good snapshot then names the best, if that exists.
std::optional<fs::path> best_by_state(const fs::path& snapshots_dir) {
  const auto newest = find_newest(snapshots_dir).path;
  if (!newest) return {};
  try {
    const auto state = parse_json<nlohmann::json>(open_snapshot(*newest).state_json);
    const auto ranking = state.value("/best/best/entries"_json_pointer, nlohmann::json::array());
    if (ranking.empty()) return {};
    const auto path = snapshots_dir / snapshot_name(ranking.front().at("iteration").get<std::uint64_t>());
    return fs::exists(path) ? std::optional(path) : std::nullopt;
  } catch (const nlohmann::json::exception&) {  // the state is of another version
    return {};
  }
}

/// Returns the error of a name that is none of a snapshot.
UserError no_snapshot(const fs::path& snapshots_dir, const std::string& name) {
  std::string known;
  for (const auto& each : names_in(snapshots_dir)) {
    std::error_code error;
    if (!is_leftover(each) && fs::exists(snapshots_dir / each / "manifest.json", error))
      known += (known.empty() ? "" : ", ") + each;
  }
  return UserError(ExitCode::snapshot,
                   snapshots_dir.parent_path().string() + " has no snapshot '" + name + "'" +
                       (name == "best" ? " (none is ranked)" : "") +
                       (known.empty() ? "; there is none at all" : "; there are: " + known),
                   "name one of these, or the folder of a snapshot");
}

}  // namespace

void link_snapshot(const fs::path& snapshots_dir, std::uint64_t iteration, const std::string& link) {
  swap_link(snapshots_dir, link, find_iteration(snapshots_dir, iteration).filename().string());
}

std::vector<SnapshotInfo> list_snapshots(const fs::path& snapshots_dir) {
  std::vector<SnapshotInfo> all;
  for (const auto& name : names_in(snapshots_dir))
    if (const auto iteration = snapshot_iteration(name)) all.push_back(inspect(snapshots_dir / name, *iteration));
  std::ranges::sort(all, std::greater(), &SnapshotInfo::iteration);
  return all;
}

std::vector<fs::path> clean_leftovers(const fs::path& snapshots_dir) {
  std::vector<fs::path> removed;
  for (const auto& name : names_in(snapshots_dir))
    if (is_leftover(name) && remove_quietly(snapshots_dir / name)) removed.push_back(snapshots_dir / name);
  return removed;
}

NewestSnapshot find_newest(const fs::path& snapshots_dir) {
  NewestSnapshot newest;
  for (const auto& info : list_snapshots(snapshots_dir)) {
    const auto problems = info.complete ? verify_snapshot(info.path) : std::vector{info.reason};
    if (problems.empty()) {
      newest.path = info.path;
      break;
    }
    // It was removed meanwhile: the writer has newer ones by now, and perhaps none of the listed ones.
    std::error_code error;
    if (fs::symlink_status(info.path, error).type() == fs::file_type::not_found) return find_newest(snapshots_dir);
    newest.passed_over.push_back({info.path, problems.front()});
  }
  return newest;
}

fs::path find_iteration(const fs::path& snapshots_dir, std::uint64_t iteration) {
  std::string known;
  for (const auto& name : names_in(snapshots_dir)) {
    const auto each = snapshot_iteration(name);
    if (!each) continue;
    if (*each == iteration) return snapshots_dir / name;
    known += (known.empty() ? "" : ", ") + std::to_string(*each);
  }
  throw UserError(ExitCode::snapshot,
                  "no snapshot of iteration " + std::to_string(iteration) + " in " + snapshots_dir.string() +
                      (known.empty() ? "; there is none at all" : "; there are: " + known),
                  "--iter selects a snapshot; --max-iter sets the length of a run");
}

ChosenSnapshot choose_snapshot(const fs::path& snapshots_dir, const SnapshotWish& wish) {
  if (wish.iteration) return {find_iteration(snapshots_dir, *wish.iteration)};
  std::error_code error;
  if (!wish.snapshot.empty()) {
    if (fs::exists(wish.snapshot, error)) return {wish.snapshot};
    if (fs::exists(snapshots_dir / wish.snapshot, error)) return {snapshots_dir / wish.snapshot};
    throw no_snapshot(snapshots_dir, wish.snapshot.string());
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

std::vector<fs::path> restore_links(const fs::path& snapshots_dir) {
  std::vector<fs::path> restored;
  for (const auto& name : names_in(snapshots_dir)) {
    if (name != "latest" && name != "best" && !name.starts_with("best-")) continue;  // a user's copy
    const auto copy = snapshots_dir / name;
    const auto iteration = iteration_held(copy);
    if (!iteration) continue;
    const auto own_name = snapshot_name(*iteration);
    const bool is_there = iteration_held(snapshots_dir / own_name).has_value();
    if (is_there && !same_manifest(copy, snapshots_dir / own_name)) continue;  // a snapshot of another run
    if (!is_there && std::ranges::count(names_in(snapshots_dir), own_name) > 0) trash(snapshots_dir / own_name);
    try {
      replace_by_link(copy, own_name, !is_there);
    } catch (const LinkError&) {
      break;  // the disk has no links
    }
    restored.push_back(copy);
  }
  return restored;
}

std::vector<fs::path> set_aside_newer(const fs::path& snapshots_dir, std::uint64_t iteration) {
  auto newer = list_snapshots(snapshots_dir);
  const auto from = std::ranges::find_if(newer, [&](const SnapshotInfo& info) { return info.iteration <= iteration; });
  const bool known = from != newer.end() && from->iteration == iteration;
  newer.erase(from, newer.end());
  if (newer.empty()) return {};

  // Links are removed first: at no instant may one lead nowhere.
  for (const auto& [link, target] : links_in(snapshots_dir))
    if (target > iteration && ::unlink((snapshots_dir / link).c_str()) != 0)
      throw system_error(snapshots_dir / link, "unlink", errno);
  if (known) try {
      swap_link(snapshots_dir, "latest", snapshot_name(iteration));
    } catch (const LinkError&) {  // no link leads astray if a folder took its place, or the disk has none
    }
  sync_folder(snapshots_dir);

  const auto aside = snapshots_dir / set_aside;
  make_folders(aside);
  const auto there = names_in(aside);
  std::vector<fs::path> moved;
  for (const auto& info : newer) {
    const auto name = info.path.filename();
    if (std::ranges::binary_search(there, name.string())) trash(aside / name);
    rename_path(info.path, aside / name);
    moved.push_back(aside / name);
  }
  sync_folder(aside);
  sync_folder(snapshots_dir);
  return moved;
}

std::vector<fs::path> prune(const fs::path& snapshots_dir, std::size_t keep_last,
                            std::span<const std::uint64_t> protect, const Every& keep_every) {
  std::vector<fs::path> removed;
  if (keep_last == 0) return removed;
  const auto aside = list_snapshots(snapshots_dir / set_aside);
  for (std::size_t i = keep_last; i < aside.size(); ++i) {
    trash(aside[i].path);
    removed.push_back(aside[i].path);
  }
  std::set<std::uint64_t> protected_iterations(protect.begin(), protect.end());
  for (const auto& [link, iteration] : links_in(snapshots_dir)) protected_iterations.insert(iteration);
  std::size_t complete = 0;  // number kept so far, going from the newest to the oldest
  for (const auto& info : list_snapshots(snapshots_dir)) {
    if (complete < keep_last) {
      complete += info.complete;
    } else if (!protected_iterations.contains(info.iteration) && !keep_every.ends(info.iteration)) {
      trash(info.path);
      removed.push_back(info.path);
    }
  }
  return removed;
}

}  // namespace flowtrain
