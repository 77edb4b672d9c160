#pragma once
// The state and tensors of a snapshot that a run continues with, as [resume] says.

#include <filesystem>
#include <optional>

#include "pipeline/base/snapshot/snapshot_files.h"
#include "pipeline/engine/session/start.h"
#include "pipeline/engine/train/run_state.h"
#include "stages/core/group.h"
#include "stages/hooks/hooks.h"
#include "stages/model/compute.h"

namespace flowtrain {

/// Whether train.nonfinite is "rollback".
bool rolls_back(const Config& config);

/// The state to begin with, rank 0's for all (a collective): `snapshot`'s, or that of iteration 0. Throws
/// UserError(snapshot) where the snapshot was made without a part of it and that was not accepted.
RunState initial_state(const Start& start, const std::optional<OpenSnapshot>& snapshot, Group& group);

/// Warns of the states of hooks that the snapshot has and the run has not, and of those that it lacks.
void warn_of_hooks(const Hooks& hooks, const RunState& state, const Config& config);

/// Loads the snapshot's tensors, under the names that resume.rename gives them. Without resume.strict a tensor of the
/// learner that is missing there, or has another shape or type, stays as it is, and all such tensors are named in the
/// log. Throws UserError(usage) where train.amp does not fit them, and for rules of resume.rename that cannot be used.
/// Returns whether the learner can load the run's other snapshots, too.
bool load_tensors(const OpenSnapshot& snapshot, const Config& config, Learner& learner);

/// Makes the folder of snapshots look as it did when `state` was saved: sets newer snapshots aside, and points "best"
/// to the snapshot of that time.
void rewind_snapshots(const std::filesystem::path& snapshots, const RunState& state);

}  // namespace flowtrain
