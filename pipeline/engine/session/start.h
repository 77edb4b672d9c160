#pragma once
// Decides and checks how a run starts: new, or from a snapshot of an earlier one.

#include <filesystem>
#include <optional>

#include "pipeline/base/config/config.h"
#include "pipeline/base/config/run_folder.h"
#include "pipeline/engine/memory/auto_batch.h"
#include "pipeline/engine/session/start_options.h"
#include "stages/core/group.h"

namespace flowtrain {

class Interrupt;

/// A run that is ready to begin: its folder is locked.
struct Start {
  Config config;
  std::optional<RunFolder> folder = {};                ///< The run's folder, in rank 0; empty if there is none.
  std::filesystem::path path = {};                     ///< The path of that folder, which other machines may not see.
  bool resumed = false;                                ///< False if the folder is new.
  std::optional<std::filesystem::path> snapshot = {};  ///< Rank 0 opens and verifies it; empty: from iteration 0.
  bool accept_changes = false;                         ///< Go on although the results will differ.
};

/// Prepares a start. It never touches an earlier run unless it is told to resume it. Throws UserError: usage for
/// contradictions and for changes that would break exact resume, snapshot for unusable folders and snapshots. In a
/// group, rank 0 decides, and the others take part (a collective); a process whose configuration would give other
/// results fails with usage. All call `find_rows` if a new run's batch is "auto", and use the least number that one of
/// them finds. Without `find_rows` such a batch is left open (batch_is_left_open), and has the default's size. If a
/// signal ends the process before the run has begun, `interrupt` (may be null) removes a new folder again.
Start prepare_start(const StartOptions& options, Group& group = solo_group(), const FindRows& find_rows = {},
                    Interrupt* interrupt = nullptr);

/// Loads the configuration only, for runs that leave nothing behind. Draws run.seed if it is "random", and finds the
/// batch.
Config load_for_use(const StartOptions& options, const FindRows& find_rows = {});

/// Returns whether run.seed is "random", so that load_for_use() draws another one each time.
bool draws_seed(const StartOptions& options);

}  // namespace flowtrain
