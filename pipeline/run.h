#pragma once
// One training run from its parts to its last line.

#include "pipeline/start.h"
#include "pipeline/telemetry/progress.h"
#include "stages/learner_spec.h"

namespace flowtrain {

class Interrupt;

/// What the command line chooses beside the configuration.
struct RunOptions {
  TrainMode mode = TrainMode::full;
  bool dry_run = false;     ///< data line only
  bool initialize = false;  ///< save the initial parameters as iteration 0 and end
  ProgressMode progress = ProgressMode::automatic;
  Group* group = &solo_group();  ///< those who train together
  unsigned processes_here = 1;   ///< of these, on this machine
  unsigned local_rank = 0;       ///< among those on this machine
};

/// Trains as `start` says, in its folder, until it is done or `interrupt` asks for the end. Returns the exit code: 0, or
/// that of the signal that ended it after a clean snapshot. Throws UserError.
int run_training(const Start& start, const RunOptions& options, const MakeLearner& make_learner, Interrupt& interrupt);

/// Runs the data line, and the net where options.mode says so, without a folder or snapshots (--dry-run, --no-optim).
int run_without_traces(const Config& config, const RunOptions& options, const MakeLearner& make_learner,
                       Interrupt& interrupt);

/// The lines of a training run, as `flowtrain graph` draws them: built, not started.
std::string draw_graph(const Config& config);

}  // namespace flowtrain
