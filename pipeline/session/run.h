#pragma once
// One training run from its parts to its last line.

#include "pipeline/session/start.h"
#include "pipeline/telemetry/progress.h"
#include "pipeline/tools/auto_batch.h"
#include "pipeline/tools/lr_find.h"
#include "stages/learner_spec.h"

namespace flowtrain {

class Interrupt;

/// What the command line chooses beside the configuration.
struct RunOptions {
  TrainMode mode = TrainMode::full;
  bool dry_run = false;         ///< data line only
  bool fast_dev_run = false;    ///< all of a run but its folder
  bool profile = false;         ///< tells where the time went
  bool only_describes = false;  ///< nothing is computed: what it would take need not be there
  bool initialize = false;      ///< save the initial parameters as iteration 0 and end
  ProgressMode progress = ProgressMode::automatic;
  Group* group = &solo_group();  ///< those who train together
  unsigned processes_here = 1;   ///< of these, on this machine
  unsigned local_rank = 0;       ///< among those on this machine
  std::string folder = {};       ///< the run's, to be named in messages; empty: it has none
  bool in_memory = false;        ///< nothing of it is kept: a signal ends the process at once
};

/// Trains as `start` says, in its folder, until it is done or `interrupt` asks for the end. Returns the exit code: 0,
/// or that of the signal that ended it after a clean snapshot. Throws UserError.
int run_training(const Start& start, const RunOptions& options, const MakeLearner& make_learner, Interrupt& interrupt);

/// Runs the data line, and the net where options.mode says so, without a folder or snapshots (--dry-run, --no-optim,
/// --fast-dev-run).
int run_without_traces(const Config& config, const RunOptions& options, const MakeLearner& make_learner,
                       Interrupt& interrupt);

/// Looks for the largest batch of this process, on its device, by steps of a net that is made for it and thrown away:
/// nothing of it is left for the run that follows. `config` has a batch of a few.
FoundRows fit_batch(const Config& config, const RunOptions& options, const MakeLearner& make_learner);

/// What a run will do (pipeline/tools/plan.h), without a device.
std::string plan_run(const Config& config, const MakeLearner& make_learner);

/// The net of a run and its parameters, a line each.
std::string summarise_net(const Config& config, const MakeLearner& make_learner);

/// Trains without a folder while `finder` sets the rates. Returns the exit code.
int find_lr(const Config& config, LrFinder& finder, const MakeLearner& make_learner, Interrupt& interrupt);

/// At which points the hooks of a run are called, and in which order: a line each.
std::string list_hooks(const Config& config, const MakeLearner& make_learner);

/// The lines of a training run, as `flowtrain graph` draws them: built, not started.
std::string draw_graph(const Config& config);

}  // namespace flowtrain
