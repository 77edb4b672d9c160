#pragma once
// Iterations of an earlier run once more: from one of its snapshots, in memory, as the run trained them.

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

/// A run that is there, or that a configuration would make.
struct EarlierRun {
  Config config;                                ///< what it trains by; run.seed is a number
  std::optional<std::filesystem::path> folder;  ///< none: nothing was run yet
  StartOptions start;                           ///< that `config` was loaded from
  std::uint64_t last;                           ///< its last iteration
};

/// The run whose folder start.config is, or else the newest run of that configuration. A warning names each value in
/// which CONFIG or the command line differ from the run's own configuration. Throws UserError.
EarlierRun find_earlier_run(StartOptions start);

/// Where to take up training to get to `iteration`: `requested`, which must be from before it, or else the run's newest
/// snapshot from before it that is complete and verified, and finite where that is asked for. Those passed over are
/// warned of. Nothing: with the initial weights. Throws UserError(usage or snapshot).
std::optional<std::filesystem::path> snapshot_before(const EarlierRun& run, std::uint64_t iteration, bool finite,
                                                     const std::filesystem::path& requested);

/// The iteration of that snapshot; 0 for none.
std::uint64_t iteration_of(const std::optional<std::filesystem::path>& snapshot);

/// Called for each iteration after its gradients and before its update. False: this iteration was the last.
using OnScalars = std::function<bool(std::uint64_t iteration, const StepStats& scalars, Learner& learner)>;

/// Which updates are left out while iterations are repeated.
enum class Discarding {
  as_the_run,  ///< those that the run left out
  possible,    ///< likewise, and `on_scalars` may call Learner::discard()
};

/// Trains from `snapshot` (nothing: from the initial weights) until `on_scalars` says that it is enough, or to the end
/// of the run. Nothing is written. Validates only where a schedule with state needs the value. Returns 0, or the exit
/// code of the signal that ended it. Throws UserError: numerics where the run would have ended before, usage where it
/// went back to a snapshot, which is not repeated.
int train_again(const EarlierRun& run, const std::optional<std::filesystem::path>& snapshot, Discarding discarding,
                const MakeLearner& make_learner, Interrupt& interrupt, const OnScalars& on_scalars);

}  // namespace flowtrain
