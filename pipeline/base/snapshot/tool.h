#pragma once
// The functions of `flowtrain snapshot`, without a command line. Each prints to `out` and returns an exit code; an
// obstacle is a UserError(snapshot).
//
// A place is a run's folder, its `snapshots` folder, or one snapshot (also a link such as `latest`). A function that
// needs one snapshot of a run takes that of `iteration` or else the newest good one; choose_snapshot() chooses an
// export's.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <ostream>

#include "pipeline/base/snapshot/rename.h"
#include "pipeline/base/snapshot/snapshot_files.h"
#include "sampling/core/error.h"

namespace flowtrain {

/// Prints a run's snapshots, the newest first: iteration, size, time, complete or why not, links to it.
ExitCode snapshot_ls(const std::filesystem::path& place, std::ostream& out);

/// Prints one snapshot: its tensors (dtype, shape, bytes) and state.
ExitCode snapshot_show(const std::filesystem::path& place, std::optional<std::uint64_t> iteration, std::ostream& out);

/// Reads every byte of one snapshot, or of all of a run, and names damaged files (ExitCode::snapshot).
ExitCode snapshot_verify(const std::filesystem::path& place, std::ostream& out);

/// Returns the snapshot of a place that `wish` names, or the place if it is one.
ChosenSnapshot snapshot_of(const std::filesystem::path& place, const SnapshotWish& wish);

/// Copies the model's weights, `averaged` or not, to the safetensors file `target`, which is replaced wholly or not
/// at all.
void export_weights(const ChosenSnapshot& chosen, bool averaged, const std::filesystem::path& target,
                    std::ostream& out);

/// Copies the weights of another program's file (see WeightsFile), renamed, to the safetensors file `target`, which is
/// replaced wholly or not at all. `key`: see WeightsChoice::place.
ExitCode snapshot_convert(const std::filesystem::path& source, const std::string& key, const Renaming& renaming,
                          const std::filesystem::path& target, std::ostream& out);

/// Compares the tensors of two snapshots bit by bit; returns ExitCode::snapshot if they differ.
ExitCode snapshot_diff(const std::filesystem::path& left, const std::filesystem::path& right, std::ostream& out);

}  // namespace flowtrain
