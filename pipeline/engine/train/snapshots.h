#pragma once
// Decides when a snapshot of the run's state is saved.

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
class Pace;

/// Why a snapshot is saved.
enum class SnapshotReason {
  period,   ///< may be left out (SnapshotBranch::leaves_out)
  request,  ///< of rank 0, by the clock or a signal (Snapshots::wanted)
  best,     ///< by one of [[best]]'s rules, or may become it
  end,      ///< of a run
};

/// Saves the snapshots of a run: at most one of each iteration, unless the state has changed since.
struct Snapshots {
  SnapshotBranch* branch;  ///< null: nothing is written
  Learner& learner;
  HookCalls& hooks;
  const Loggers& loggers;
  Profile* profile;  ///< null: nobody asks where time goes
  RunState& state;
  const Pace& pace;                       ///< of the training time that a snapshot records
  std::uint64_t saved = state.iteration;  ///< iteration of the newest one
  const HashJournal* journal = nullptr;   ///< null: there is none
  const Interrupt* interrupt = nullptr;   ///< null: no signal asks for snapshots
  double every_s = 0;                     ///< seconds from one snapshot to the next; 0: the clock does not matter
  std::chrono::steady_clock::time_point saved_at = std::chrono::steady_clock::now();
  std::uint64_t answered = 0;  ///< requests by signal that the newest one has answered

  /// Asked once a step of the first process: whether a snapshot is due by the clock, or a signal (SIGUSR2) has asked
  /// for one. When that is differs from run to run, and so what it leads to must not change what is trained.
  bool wanted() const;

  /// `before` is called only if a snapshot is saved, before that, and may change the state. `links`: of the rules by
  /// which the snapshot is the best.
  void save(
      SnapshotReason reason, const std::vector<std::string>& links = {}, const std::function<void()>& before = [] {});
  /// Whether the newest snapshot is that of the current iteration.
  bool has_newest() const { return saved == state.iteration; }
};

}  // namespace flowtrain
