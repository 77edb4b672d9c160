#pragma once
// When a run's state is copied for a snapshot, and what goes with it.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pipeline/train/hook_calls.h"
#include "pipeline/train/run_state.h"
#include "pipeline/train/snapshot_branch.h"
#include "stages/compute.h"
#include "stages/profile.h"

namespace flowtrain {

/// What a snapshot is for.
enum class SnapshotReason {
  period,  ///< may be left out (SnapshotBranch::leaves_out)
  best,    ///< by one of [[best]]'s rules, or may become it
  end,     ///< of a run
};

/// Takes the snapshots of a run. Each iteration has one at most, unless more has come of it since.
class Snapshots {
 public:
  /// `branch` and `profile` may be null: nothing is written; nobody asks where time goes.
  Snapshots(SnapshotBranch* branch, Learner& learner, HookCalls& hooks, Profile* profile, RunState& state)
      : branch_(branch), learner_(learner), hooks_(hooks), profile_(profile), state_(state), taken_(state.iteration) {}

  /// `before` is called once it is sure that one is taken, and may change the state. `links`: of the rules that it is
  /// the best of.
  void take(
      SnapshotReason reason, const std::vector<std::string>& links = {}, const std::function<void()>& before = [] {});
  /// Whether the state is in a snapshot of its iteration.
  bool has_newest() const { return taken_ == state_.iteration; }
  SnapshotBranch* branch() { return branch_; }

 private:
  SnapshotBranch* branch_;
  Learner& learner_;
  HookCalls& hooks_;
  Profile* profile_;
  RunState& state_;
  std::uint64_t taken_;  // iteration of the newest one
};

}  // namespace flowtrain
