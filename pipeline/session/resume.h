#pragma once
// What a run goes on with: a snapshot's state and tensors, as [resume] says.

#include <filesystem>
#include <optional>

#include "pipeline/session/start.h"
#include "pipeline/snapshot/snapshot_files.h"
#include "pipeline/train/run_state.h"
#include "stages/compute.h"
#include "stages/group.h"

namespace flowtrain {

/// Whether train.nonfinite is "rollback".
bool rolls_back(const Config& config);

/// The state to begin with, rank 0's for all (a collective): `snapshot`'s, or that of iteration 0. Throws
/// UserError(snapshot) where the snapshot was made without a part of it and that was not accepted.
RunState initial_state(const Start& start, const std::optional<OpenSnapshot>& snapshot, Group& group);

/// The tensors to begin with. Throws UserError(usage) where train.amp does not fit them.
LearnerState tensors_to_resume(const OpenSnapshot& snapshot, const Config& config);

/// Makes the folder of snapshots look as it did when `state` was saved: newer ones are set aside, "best" points where
/// it did.
void take_over(const std::filesystem::path& snapshots, const RunState& state);

}  // namespace flowtrain
