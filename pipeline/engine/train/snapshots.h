#pragma once
// Saves snapshots of the run's state.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pipeline/engine/train/hook_calls.h"
#include "pipeline/engine/train/logger.h"
#include "pipeline/engine/train/run_state.h"
#include "pipeline/engine/train/snapshot_branch.h"
#include "stages/model/compute.h"
#include "stages/trace/profile.h"

namespace flowtrain {

class HashJournal;
class Interrupt;
class ThroughputMeter;

/// The reason for which a snapshot is saved.
enum class SnapshotReason {
  period,   ///< The period of the plan; it may be left out (SnapshotBranch::leaves_out).
  request,  ///< A request of rank 0, by the clock or a signal (Snapshots::wanted).
  best,     ///< It is the best by one of [[best]]'s rules, or may become it.
  end,      ///< The run ends.
};

/// The parts of the run that a snapshot uses; everything outlives it.
struct SnapshotParts {
  SnapshotBranch* branch;  ///< Null if nothing is written.
  Learner& learner;
  HookCalls& hooks;
  const Loggers& loggers;
  const ThroughputMeter& meter;          ///< Measures the training time that a snapshot records.
  Profile* profile = nullptr;            ///< Null if phases are not timed.
  const HashJournal* journal = nullptr;  ///< Null if there is none.
  const Interrupt* interrupt = nullptr;  ///< Null if no signal asks for snapshots.
  double every_s = 0;                    ///< The seconds from one snapshot to the next; 0: the clock does not matter.
};

/// Saves the snapshots of a run: at most one of each iteration, unless the state has changed since.
class Snapshots {
 public:
  Snapshots(const SnapshotParts& parts, RunState& state) : run_(parts), state_(state), saved_(state.iteration) {}

  /// Returns, in each step of rank 0, whether a snapshot is due by the clock, or was asked for by a signal (SIGUSR2).
  /// The answer differs from run to run, so its effects must not change what is trained.
  bool wanted() const;
  /// Looks whether the run's folder is still in its place (SnapshotBranch::look_at_folder).
  void look_at_folder() const;
  /// Saves the state if it is new. `before` is called before that, and may change the state. `links` names the rules by
  /// which the snapshot is the best.
  void save(
      SnapshotReason reason, const std::vector<std::string>& links = {}, const std::function<void()>& before = [] {});
  /// Leads `links` to the snapshot of an earlier iteration, if snapshots are written.
  void link(std::uint64_t iteration, const std::vector<std::string>& links);
  /// Loads the model of an earlier iteration, or its averages, into a replica. Returns whether there is such a
  /// snapshot.
  bool load(ValidationReplica& replica, std::uint64_t iteration, bool averaged);
  /// Returns whether the newest snapshot is that of the current iteration.
  bool has_newest() const { return saved_ == state_.iteration; }

 private:
  const SnapshotParts run_;
  RunState& state_;
  std::uint64_t saved_;  // the iteration of the newest snapshot
  std::chrono::steady_clock::time_point saved_at_ = std::chrono::steady_clock::now();
  std::uint64_t answered_ = 0;  // requests by signal before the newest snapshot
};

}  // namespace flowtrain
