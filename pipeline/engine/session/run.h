#pragma once
// One training run from its parts to its last line.

#include <memory>
#include <string>

#include "pipeline/base/telemetry/progress.h"
#include "pipeline/base/telemetry/run_page.h"
#include "pipeline/engine/session/session.h"
#include "pipeline/engine/session/start.h"
#include "stages/hooks/hook.h"
#include "stages/model/learner_spec.h"

namespace flowtrain {

class Interrupt;

/// What the command line chooses beside the configuration.
struct RunOptions : SessionOptions {
  bool fast_dev_run = false;  ///< all of a run but its folder
  bool profile = false;       ///< tells where the time went
  bool initialize = false;    ///< save the initial parameters as iteration 0 and end
  ProgressMode progress = ProgressMode::automatic;
  std::string folder = {};     ///< the run's, to be named in messages; empty: it has none
  bool announces = true;       ///< tells what it works with before it begins
  bool in_memory = false;      ///< nothing of it is kept: a signal ends the process at once
  MakeRunPage make_page = {};  ///< makes what display.report asks for; empty: there is no report
};

/// Trains as `start` says, in its folder, until it is done or `interrupt` asks for the end. Returns the exit code: 0,
/// or that of the signal that ended it after a clean snapshot. Throws UserError.
int run_training(const Start& start, const RunOptions& options, const MakeLearner& make_learner, Interrupt& interrupt);

/// A hook that is called after all others.
struct LastHook {
  std::shared_ptr<Hook> hook = {};  ///< null: there is none
  std::string label = {};
};

/// Runs the loader, and the net where options.mode says so, without a folder or snapshots (--dry-run, --no-optim,
/// --fast-dev-run, lr-find).
int run_without_traces(const Config& config, const RunOptions& options, const MakeLearner& make_learner,
                       Interrupt& interrupt, const LastHook& last_hook = {});

}  // namespace flowtrain
