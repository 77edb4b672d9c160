#pragma once
// How a run starts: fresh, or from a snapshot of an earlier one. Decides, checks and says so.

#include <filesystem>
#include <optional>

#include "pipeline/base/config/config.h"
#include "pipeline/base/config/run_folder.h"
#include "pipeline/engine/memory/auto_batch.h"
#include "pipeline/engine/session/start_options.h"
#include "stages/core/group.h"

namespace flowtrain {

class Interrupt;

/// A run ready to begin: its folder is locked.
struct Start {
  Config config;
  std::optional<RunFolder> folder = {};                ///< of the process that leads the group, if there is one
  std::filesystem::path path = {};                     ///< of that folder, which other machines may not see
  bool resumed = false;                                ///< false: a fresh folder
  std::optional<std::filesystem::path> snapshot = {};  ///< verified by rank 0, which opens it; none: from iteration 0
  bool accept_changes = false;                         ///< go on although that is not the run that it would have been
};

/// A start never touches an earlier run unless it is told to go on in it. Throws UserError: usage for contradictions
/// and for changes that would break exact resume, snapshot for folders and snapshots that cannot be used. In a group,
/// rank 0 decides, and the others take part (a collective); one whose configuration would give other results fails with
/// usage. `find_rows` is called, by all, where a fresh run's batch is "auto": the least that one of them finds is each
/// one's. Without it such a batch is left open (batch_is_left_open), and has the default's size. Where a signal ends
/// the process before the run has begun, `interrupt` (may be null) takes a fresh folder away again.
Start prepare_start(const StartOptions& options, Group& group = solo_group(), const FindRows& find_rows = {},
                    Interrupt* interrupt = nullptr);

/// The configuration alone, with run.seed drawn where it is "random", and the batch found: for runs that leave nothing
/// behind.
Config load_for_use(const StartOptions& options, const FindRows& find_rows = {});

/// Whether run.seed is "random": load_for_use() draws another each time.
bool draws_seed(const StartOptions& options);

}  // namespace flowtrain
