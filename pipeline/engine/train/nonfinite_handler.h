#pragma once
// Handles iterations whose loss or gradients are not finite: train.nonfinite.

#include <cstdint>
#include <optional>
#include <string>

#include "pipeline/base/errors/policies.h"
#include "pipeline/engine/train/hyper_adjuster.h"
#include "pipeline/engine/train/logger.h"
#include "pipeline/engine/train/run_state.h"
#include "pipeline/engine/train/sample_account.h"
#include "pipeline/engine/train/snapshot_branch.h"
#include "stages/model/compute.h"

namespace flowtrain {

/// Decides by an iteration's statistics what is done with its gradients. All processes have the same statistics, so
/// they decide alike.
class NonFiniteHandler {
 public:
  /// The parts of the run that a rollback changes, and those that messages name. Everything outlives the handler.
  struct Parts {
    Learner& learner;
    SnapshotBranch* snapshots;  ///< Null if there is nothing to go back to.
    HyperAdjuster& hyper;
    const SampleAccount& samples;
    const Group& group;
  };

  NonFiniteHandler(NonFinitePolicy policy, const Parts& parts, NonFiniteState& state)
      : policy_(std::move(policy)), run_(parts), state_(state) {}

  /// Returns whether it needs the statistics of each iteration.
  bool reads_all() const { return policy_.action != NonFinitePolicy::Action::stop; }
  /// Counts the iterations whose statistics were not read. Throws UserError(numerics) for the first that was not
  /// finite.
  void read_deferred(std::uint64_t iteration, const DeferredStats& deferred);
  /// Decides; without statistics the decision is an update. Throws UserError(numerics) if the run must end.
  Decision decide(std::uint64_t iteration, const std::optional<StepStats>& stats);
  /// Loads the weights of an earlier snapshot and lowers the learning rate. Throws UserError(numerics) if there is no
  /// such snapshot.
  void roll_back(std::uint64_t iteration, const StepStats& stats);

  /// Lets a rollback go back to this iteration. Each run of this configuration must take its snapshot, however often
  /// the run is interrupted.
  void add_rollback_target(std::uint64_t iteration);

 private:
  UserError error(std::uint64_t iteration, const StepStats& stats, const std::string& why = {}) const;
  Decision recover(std::uint64_t iteration, const StepStats& stats);

  const NonFinitePolicy policy_;
  const Parts run_;
  NonFiniteState& state_;
};

}  // namespace flowtrain
