#pragma once
// What `flowtrain snapshot` does, without a command line. Each function prints to `out` and returns an exit code;
// what stops it is a UserError(snapshot).
//
// A place is a run's folder, its `snapshots` folder, or one snapshot (a link such as `latest`, too). Where one
// snapshot is wanted of a run, it is that of `iteration` or else the newest good one; an export's is chosen as
// choose_snapshot() says.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <ostream>

#include "pipeline/base/snapshot/rename.h"
#include "pipeline/base/snapshot/snapshot_files.h"
#include "sampling/core/error.h"

namespace flowtrain {

/// The table of a run's snapshots, the newest first: iteration, size, when, complete or why not, links to it.
ExitCode snapshot_ls(const std::filesystem::path& place, std::ostream& out);

/// One snapshot: its tensors (dtype, shape, bytes) and state.
ExitCode snapshot_show(const std::filesystem::path& place, std::optional<std::uint64_t> iteration, std::ostream& out);

/// Reads every byte of one snapshot, or of all of a run, and names what is damaged. ExitCode::snapshot where something
/// is.
ExitCode snapshot_verify(const std::filesystem::path& place, std::ostream& out);

/// The snapshot of a place that `wish` names, or the place where it is one.
ChosenSnapshot snapshot_of(const std::filesystem::path& place, const SnapshotWish& wish);

/// Copies the model's weights, `averaged` where they were, to the safetensors file `target`, which is replaced wholly
/// or not at all.
void export_weights(const ChosenSnapshot& chosen, bool averaged, const std::filesystem::path& target,
                    std::ostream& out);

/// Copies the weights of a file from elsewhere (see WeightsFile), renamed, to the safetensors file `target`, which is
/// replaced wholly or not at all. `key`: see WeightsChoice::place.
ExitCode snapshot_convert(const std::filesystem::path& source, const std::string& key, const Renaming& renaming,
                          const std::filesystem::path& target, std::ostream& out);

/// Compares the tensors of two snapshots bit by bit; ExitCode::snapshot where they differ. States that differ are a
/// note.
ExitCode snapshot_diff(const std::filesystem::path& left, const std::filesystem::path& right, std::ostream& out);

}  // namespace flowtrain
