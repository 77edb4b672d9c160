#pragma once
// Runs one training.

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

/// The choices of the command line beside the configuration.
struct RunOptions : SessionOptions {
  bool fast_dev_run = false;  ///< Does all of a run without a folder.
  bool profile = false;       ///< Reports where the time went.
  bool initialize = false;    ///< Saves the initial parameters as iteration 0 and ends.
  ProgressMode progress = ProgressMode::automatic;
  std::string folder = {};     ///< The run's folder in messages; empty if it has none.
  bool announces = true;       ///< Logs what it works with before it begins.
  bool in_memory = false;      ///< Keeps nothing: a signal ends the process at once.
  MakeRunPage make_page = {};  ///< Makes the page of display.report; empty: there is none.
};

/// Trains as `start` says, in its folder, until it is done or `interrupt` asks for the end. Returns the exit code: 0,
/// or the code of the signal that ended it after a clean snapshot. Throws UserError.
int run_training(const Start& start, const RunOptions& options, const MakeLearner& make_learner, Interrupt& interrupt);

/// A hook that is called after all others.
struct LastHook {
  std::shared_ptr<Hook> hook = {};  ///< Null if there is none.
  std::string label = {};
};

/// Runs the loader, and the net if options.mode says so, without a folder or snapshots (--dry-run, --no-optim,
/// --fast-dev-run, lr-find).
int run_without_traces(const Config& config, const RunOptions& options, const MakeLearner& make_learner,
                       Interrupt& interrupt, const LastHook& last_hook = {});

}  // namespace flowtrain
