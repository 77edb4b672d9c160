#pragma once
// The public interface of this folder: saving, finding, checking and opening snapshots in RUN/snapshots. All errors are
// UserError(snapshot). One process writes to a folder at a time; any number may read.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/base/snapshot/safetensors.h"
#include "stages/core/every.h"

namespace flowtrain {

/// The content of a snapshot. write_snapshot() only reads the tensors' bytes.
struct SnapshotContent {
  std::uint64_t iteration = 0;
  std::vector<TensorView> model;
  std::vector<TensorView> optim;
  std::string state_json;   ///< further state of a resumed run, stored unchanged
  std::string config_toml;  ///< the resolved configuration
};

/// Returns "iter-00000500".
std::string snapshot_name(std::uint64_t iteration);

/// Returns the iteration in a name that snapshot_name() made; nothing for other names.
std::optional<std::uint64_t> snapshot_iteration(std::string_view name);

/// Saves `content` as `snapshots_dir/iter-…` (both made if missing, one of the same iteration replaced), then points
/// the link `latest` at it. When it returns, the snapshot is durable; when it throws, earlier snapshots are intact.
/// After a LinkError only the link is missing. Leftovers of failures are removed. Returns the snapshot's path.
std::filesystem::path write_snapshot(const std::filesystem::path& snapshots_dir, const SnapshotContent& content);

/// Points the link `link` ("best", "best-<metric>") at the snapshot of `iteration`, which must exist. Throws LinkError.
void link_snapshot(const std::filesystem::path& snapshots_dir, std::uint64_t iteration,
                   const std::string& link = "best");

/// A snapshot by its names and sizes; hashes are not checked.
struct SnapshotInfo {
  std::uint64_t iteration = 0;
  std::filesystem::path path;
  bool complete = false;    ///< the manifest is intact and gives the files' sizes; hashes are not checked
  std::uint64_t bytes = 0;  ///< size of all files by the manifest; 0 without one
  std::string reason;       ///< reason for being incomplete: "manifest.json: …"
};

/// Returns all snapshots, the newest first; none for a folder that does not exist. Leftovers do not count.
std::vector<SnapshotInfo> list_snapshots(const std::filesystem::path& snapshots_dir);

/// Removes leftovers of interrupted saves, as far as possible; returns the removed paths. No save may run.
std::vector<std::filesystem::path> clean_leftovers(const std::filesystem::path& snapshots_dir);

/// Reads every byte and compares hashes. Returns a line for each problem, with the file and if possible the tensor;
/// empty for a good snapshot. A file that cannot be read is such a line, too.
std::vector<std::string> verify_snapshot(const std::filesystem::path& snapshot);

struct PassedOver {
  std::filesystem::path path;
  std::string reason;
};
struct NewestSnapshot {
  std::optional<std::filesystem::path> path;  ///< complete and verified; empty if there is none
  std::vector<PassedOver> passed_over;        ///< newer ones that are damaged, the newest first
};
NewestSnapshot find_newest(const std::filesystem::path& snapshots_dir);

/// Returns the path of the snapshot of `iteration`. Throws if there is none, with the iterations that exist.
std::filesystem::path find_iteration(const std::filesystem::path& snapshots_dir, std::uint64_t iteration);

/// The snapshot that a command line names: at most one member is set.
struct SnapshotWish {
  std::optional<std::uint64_t> iteration = {};  ///< --iter
  std::filesystem::path snapshot = {};  ///< --snapshot: a folder, or a name in the run's snapshots/: latest, best
};

struct ChosenSnapshot {
  std::filesystem::path path;
  std::string why = {};  ///< "the best" or "the newest"; empty if the user named it
};

/// Returns the snapshot that `wish` names; otherwise the best one (the link `best`), and without that link the newest
/// good one. Throws UserError(snapshot) if there is no snapshot of that iteration or name, or none at all.
ChosenSnapshot choose_snapshot(const std::filesystem::path& snapshots_dir, const SnapshotWish& wish);

/// Returns the newest good one. Throws UserError(snapshot) if there is none, with the problem of the newest.
std::filesystem::path newest_good(const std::filesystem::path& snapshots_dir);

/// A snapshot's content for reading; the tensors are views into mapped files that this object keeps.
struct OpenSnapshot {
  std::uint64_t iteration = 0;
  SafetensorsFile model;
  SafetensorsFile optim;
  std::string state_json;
  std::string config_toml;
};

/// Opens a snapshot after verify_snapshot(); throws with its first problem.
OpenSnapshot open_snapshot(const std::filesystem::path& snapshot);
/// The prefix of a parameter's average ([ema]), stored among the optimizer's tensors under it and the name.
inline constexpr std::string_view average_prefix = "ema.";
inline bool is_average(std::string_view name) { return name.starts_with(average_prefix); }
bool has_average(const OpenSnapshot& snapshot);
/// Throws UserError(snapshot) if it has none.
void require_average(const OpenSnapshot& snapshot);
/// Returns the model's tensors, with the average in place of each parameter that has one.
std::vector<TensorView> averaged_model(const OpenSnapshot& snapshot);
/// Opens a snapshot that find_newest() or verify_snapshot() has just found good, without hashing all of it again.
OpenSnapshot open_verified(const std::filesystem::path& snapshot);

/// Restores links where somebody copied a run and followed its links, so that folders took their places: its snapshot
/// moves to its own place, or is there already. Folders without a snapshot are left alone. Returns the restored links.
std::vector<std::filesystem::path> restore_links(const std::filesystem::path& snapshots_dir);

/// Moves snapshots later than `iteration` to `superseded/`, for a run that continues from there: no later resume may
/// take one. `latest` then points at `iteration`'s; links to moved ones are removed. Returns the new places.
std::vector<std::filesystem::path> set_aside_newer(const std::filesystem::path& snapshots_dir, std::uint64_t iteration);

/// Removes snapshots older than the `keep_last` newest complete ones (0: none), but never one of the iterations in
/// `protect`, one whose iteration is due by `keep_every`, or one that a link (`latest`, `best`, …) points at. The same
/// number of superseded ones stays, the newest. Returns the removed ones.
std::vector<std::filesystem::path> prune(const std::filesystem::path& snapshots_dir, std::size_t keep_last,
                                         std::span<const std::uint64_t> protect = {}, const Every& keep_every = {});

}  // namespace flowtrain
