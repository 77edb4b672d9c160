#pragma once
// train.nonfinite: what becomes of an iteration whose loss or gradients are not finite.

#include <cstdint>
#include <optional>
#include <string>

#include "pipeline/train/hyper_adjuster.h"
#include "pipeline/train/nonfinite.h"
#include "pipeline/train/run_state.h"
#include "pipeline/train/sample_account.h"
#include "pipeline/train/snapshot_branch.h"
#include "stages/compute.h"

namespace flowtrain {

/// What is done with the gradients of an iteration.
enum class Decision {
  update,      ///< the parameters change by them
  skip,        ///< they are forgotten
  scale_down,  ///< half precision overflowed: the learner leaves the weights, and lowers the loss's scale
  roll_back,   ///< the weights go back to an earlier snapshot, the learning rate is lowered
};

/// Decides by an iteration's statistics, and carries the decision out. All processes have the same statistics, so they
/// decide alike.
class Judge {
 public:
  /// `snapshots` may be null: there is nothing to go back to.
  Judge(const NonFinitePolicy& policy, Learner& learner, SnapshotBranch* snapshots, HyperAdjuster& hyper,
        const SampleAccount& samples, const Group& group, RunState& state)
      : policy_(policy),
        learner_(learner),
        snapshots_(snapshots),
        hyper_(hyper),
        samples_(samples),
        group_(group),
        state_(state) {}

  /// Whether each iteration's statistics are to be read.
  bool reads_all() const { return policy_.action != NonFinitePolicy::Action::stop; }
  /// Takes in the iterations that were not read. Throws UserError(numerics) for the first that was not finite.
  void read_deferred(std::uint64_t iteration, const DeferredStats& deferred);
  /// An update, where the statistics were not read. Throws UserError(numerics) where the run is to end.
  Decision decide(std::uint64_t iteration, const std::optional<StepStats>& stats);
  /// Returns what was done instead of an update, for metrics.jsonl; null for an update.
  const char* carry_out(Decision decision, std::uint64_t iteration, const std::optional<StepStats>& stats);

  /// The iteration has a snapshot that each run of this configuration has, however often it is interrupted: a rollback
  /// may go back to it.
  void add_rollback_target(std::uint64_t iteration);

 private:
  UserError error(std::uint64_t iteration, const StepStats& stats, const std::string& why = {}) const;
  Decision recover(std::uint64_t iteration, const StepStats& stats);
  void roll_back(std::uint64_t iteration, const StepStats& stats);
  void warn(const std::string& text) const;

  const NonFinitePolicy policy_;
  Learner& learner_;
  SnapshotBranch* snapshots_;
  HyperAdjuster& hyper_;
  const SampleAccount& samples_;
  const Group& group_;
  RunState& state_;
};

}  // namespace flowtrain
