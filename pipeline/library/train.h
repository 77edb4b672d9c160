#pragma once
// Trains from a C++ program: find_package(flowtrain COMPONENTS train), flowtrain::train. See docs/library.md.

#include <filesystem>

#include "pipeline/engine/session/start_options.h"

namespace flowtrain {

/// The outcome of a training.
struct TrainOutcome {
  int exit_code = 0;             ///< 0: done; 130 or 143: a signal ended it, after a snapshot
  std::filesystem::path folder;  ///< the run's folder, with result.json, metrics.jsonl and snapshots/
};

/// Trains as `flowtrain train` does, until the end that the configuration names, and returns then. It is a single
/// process, or a rank where torchrun, Slurm or MPI started this program. Parts that the program has added to the
/// registries (datasets(), samplers(), hooks() …) can be named in the configuration; those that compute with tensors
/// come from plugins (run.plugins). Opens LibTorch: the environment variable FLOWTRAIN_TORCH names its folder, unless
/// it lies where flowtrain was built with it. While it runs, SIGINT, SIGTERM, SIGHUP and SIGUSR1 ask for an end after a
/// snapshot. One call at a time. Throws UserError (sampling/core/error.h), whose code() is the exit code of the
/// program.
TrainOutcome train(const StartOptions& start);

}  // namespace flowtrain
