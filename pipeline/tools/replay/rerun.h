#pragma once
// Repeats iterations of an earlier run in memory, from one of its snapshots, as the run trained them.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "pipeline/base/config/config.h"
#include "pipeline/engine/session/start.h"
#include "stages/model/compute.h"
#include "stages/model/learner_spec.h"

namespace flowtrain {

class Interrupt;

/// A run that exists, or that a configuration would make.
struct EarlierRun {
  Config config;                                ///< the configuration that it trains with; run.seed is a number
  std::optional<std::filesystem::path> folder;  ///< empty: no run exists yet
  StartOptions start;                           ///< the options that `config` was loaded from
  std::uint64_t last;                           ///< the run's last iteration
};

/// Finds the run whose folder start.config is, or else the newest run of that configuration. A warning names each value
/// in which CONFIG or the command line differ from the run's own configuration. Throws UserError.
EarlierRun find_earlier_run(StartOptions start);

/// Returns the snapshot from which to train again up to `iteration`: `requested`, which must be from before it, or else
/// the run's newest complete and verified snapshot from before it, with finite values if `finite`. Skipped snapshots
/// are warned of. Returns nothing if training must begin with the initial weights. Throws UserError(usage or snapshot).
std::optional<std::filesystem::path> snapshot_before(const EarlierRun& run, std::uint64_t iteration, bool finite,
                                                     const std::filesystem::path& requested);

/// Returns the iteration of that snapshot; 0 without one.
std::uint64_t iteration_of(const std::optional<std::filesystem::path>& snapshot);

/// Called for each iteration after its gradients and before its update. Returns false if this iteration was the last.
using OnScalars = std::function<bool(std::uint64_t iteration, const StepStats& scalars, Learner& learner)>;

/// The updates to leave out while iterations are repeated.
enum class Discarding {
  as_the_run,  ///< the updates that the run left out
  possible,    ///< these, and those for which `on_scalars` calls Learner::discard()
};

/// Trains from `snapshot` (by default from the initial weights) until `on_scalars` returns false, or to the end of the
/// run. Writes no files. Validates only if a schedule with state needs the value. Returns 0, or the exit code of the
/// signal that ended it. Throws UserError: numerics if the run would have ended before; usage if it went back to a
/// snapshot, which cannot be repeated.
int train_again(const EarlierRun& run, const std::optional<std::filesystem::path>& snapshot, Discarding discarding,
                const MakeLearner& make_learner, Interrupt& interrupt, const OnScalars& on_scalars);

}  // namespace flowtrain
