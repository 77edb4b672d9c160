#pragma once
// train.nonfinite: handles iterations whose loss or gradients are not finite.

#include <cstdint>
#include <optional>
#include <string>

#include "pipeline/base/errors/policies.h"
#include "pipeline/engine/train/hyper_adjuster.h"
#include "pipeline/engine/train/run_state.h"
#include "pipeline/engine/train/sample_account.h"
#include "pipeline/engine/train/snapshot_branch.h"
#include "stages/model/compute.h"

namespace flowtrain {

/// What is done with the gradients of an iteration.
enum class Decision {
  update,      ///< the optimizers change the parameters
  skip,        ///< the gradients are dropped
  scale_down,  ///< half precision overflowed: the learner leaves the weights, and lowers the loss's scale
  roll_back,   ///< the weights go back to an earlier snapshot, the learning rate is lowered
};

/// Decides by an iteration's statistics, and carries the decision out. All processes have the same statistics, so they
/// decide alike.
struct Judge {
  const NonFinitePolicy policy;
  Learner& learner;
  SnapshotBranch* snapshots;  ///< null: there is nothing to go back to
  HyperAdjuster& hyper;
  const SampleAccount& samples;
  const Group& group;
  RunState& state;

  /// Whether each iteration's statistics are to be read.
  bool reads_all() const { return policy.action != NonFinitePolicy::Action::stop; }
  /// Takes in the iterations that were not read. Throws UserError(numerics) for the first that was not finite.
  void read_deferred(std::uint64_t iteration, const DeferredStats& deferred);
  /// Without statistics the decision is an update. Throws UserError(numerics) if the run must end.
  Decision decide(std::uint64_t iteration, const std::optional<StepStats>& stats);
  /// Returns the name of what was done instead of an update, for metrics.jsonl; null for an update.
  const char* carry_out(Decision decision, std::uint64_t iteration, const std::optional<StepStats>& stats);

  /// Lets a rollback go back to this iteration. Its snapshot must be one that each run of this configuration takes,
  /// however often the run is interrupted.
  void add_rollback_target(std::uint64_t iteration);

 private:
  UserError error(std::uint64_t iteration, const StepStats& stats, const std::string& why = {}) const;
  Decision recover(std::uint64_t iteration, const StepStats& stats);
  void roll_back(std::uint64_t iteration, const StepStats& stats);
};

}  // namespace flowtrain
