#pragma once
// The snapshot branch: training waits only for a copy of the state. Writing, hashing, fsync and rename happen here, on
// a thread of their own.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/base/snapshot/snapshot_files.h"
#include "pipeline/base/telemetry/metrics.h"
#include "pipeline/engine/train/run_state.h"
#include "stages/core/every.h"
#include "stages/core/group.h"
#include "stages/model/compute.h"

namespace flowtrain {

/// The rules for snapshots: which are kept, and where.
struct SnapshotPolicy {
  std::filesystem::path folder;  ///< The folder of snapshots, such as runs/x/snapshots.
  std::size_t keep_last = 3;
  std::vector<BestRule> best = BestRule::by_loss();
  Every keep_every;             ///< Snapshots of these iterations are never removed.
  bool skip_when_busy = false;  ///< SnapshotBranch::leaves_out may answer yes.
  bool stop_on_error = false;   ///< check() throws once a snapshot could not be written.
  std::string config_toml;      ///< Every snapshot contains it, so that each is complete.
};

/// Writes snapshots one after the other. Each process of a run has one, and calls it as the others do: the first one
/// writes and reads the files, and all get the same answers. One thread calls.
class SnapshotBranch {
 public:
  SnapshotBranch(SnapshotPolicy policy, MetricsFile* metrics, Group& group = solo_group());
  ~SnapshotBranch();
  SnapshotBranch(const SnapshotBranch&) = delete;

  /// Returns whether the periodic snapshot that is due is left out, with a warning, because the one before is still
  /// being written. A collective with SnapshotPolicy::skip_when_busy; without it the answer is no.
  bool leaves_out(std::uint64_t iteration);
  /// Copies the state and returns; waits first if the snapshot before is still being written. A failed write is a
  /// warning, and training goes on: the next snapshot tries again. Each snapshots/<link> of `links` leads to it. The
  /// writing thread calls `before` first, which waits for lines of the log: a run that resumes from the snapshot must
  /// not write them again.
  void save(
      Learner& learner, const RunState& state, const std::vector<std::string>& links = {},
      std::function<void()> before = [] {});
  /// Leads `links` to the earlier snapshot of `iteration`. `state` is the current one.
  void link(std::uint64_t iteration, const RunState& state, const std::vector<std::string>& links);
  /// Throws UserError(snapshot), in the first process, if a write has failed and the policy is to stop then, or if the
  /// run's folder is lost.
  void check() const;
  /// Looks whether the run's folder was removed, renamed or replaced: check() throws then, whatever the policy is.
  void look_at_folder();
  /// Returns whether check() throws.
  bool has_failed() const;
  /// Loads the first snapshot of `iterations` that exists and is sound into the learners of all processes, once
  /// everything is on disk. Returns its iteration; nothing if there is none. A collective.
  std::optional<std::uint64_t> load(Learner& learner, const std::vector<std::uint64_t>& iterations);
  /// Loads the model of one snapshot, as read_model() does, into the replicas of all processes. Returns false if there
  /// is no such snapshot. A collective.
  bool load(ValidationReplica& replica, std::uint64_t iteration, bool averaged);
  /// Waits until everything is on disk. Returns false if the last snapshot could not be written; the reason was logged.
  bool finish();

 private:
  struct Impl;
  std::optional<std::uint64_t> choose(const std::vector<std::uint64_t>& iterations,
                                      std::optional<OpenSnapshot>& snapshot);

  Group& group_;
  const bool skip_when_busy_;
  std::unique_ptr<Impl> impl_;  // null in all processes but the first
};

/// Reads the tensors of a snapshot.
LearnerState read_tensors(const OpenSnapshot& snapshot);
/// Reads the tensors of the model only. With `averaged` these are the averages that validation saw, if there are any.
std::vector<StateTensor> read_model(const OpenSnapshot& snapshot, bool averaged = false);

}  // namespace flowtrain
