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

/// Which snapshots are kept, and where.
struct SnapshotPolicy {
  std::filesystem::path folder;  ///< runs/x/snapshots
  std::size_t keep_last = 3;
  std::vector<BestRule> best = BestRule::by_loss();
  Every keep_every;             ///< those of iterations that are due by this are kept for good
  bool skip_when_busy = false;  ///< see SnapshotBranch::leaves_out
  bool stop_on_error = false;   ///< check() throws once one could not be written
  std::string config_toml;      ///< goes into every snapshot, so that each stands for itself
};

/// Writes snapshots one after the other. Each process of a run has one, and calls it as the others do: the first one
/// writes and reads the files, and what follows for all is answered alike in all. One thread calls.
class SnapshotBranch {
 public:
  SnapshotBranch(SnapshotPolicy policy, MetricsFile* metrics, Group& group = solo_group());
  ~SnapshotBranch();
  SnapshotBranch(const SnapshotBranch&) = delete;

  /// Whether the periodic snapshot that is due is left out, with a warning, as the one before is still being written
  /// (SnapshotPolicy::skip_when_busy). A collective where the policy is so.
  bool leaves_out(std::uint64_t iteration);
  /// Copies the state and returns; waits first if the one before is still being written. A failed write, for whatever
  /// reason, is a warning, and training goes on: the next one tries anew. `links`: snapshots/<link> that are to lead to
  /// it. `before`: what must have happened before the snapshot is there, on the writing thread: a run that goes on
  /// from it writes no line again that came before it.
  void save(
      Learner& learner, const RunState& state, const std::vector<std::string>& links = {},
      std::function<void()> before = [] {});
  /// Leads `links` to the snapshot of `iteration`, saved before, as save() does. `state`: as it is now.
  void link(std::uint64_t iteration, const RunState& state, const std::vector<std::string>& links);
  /// In the first process: throws UserError(snapshot) where a write has failed and the policy is to stop then, or the
  /// run's folder is lost.
  void check() const;
  /// Looks whether the run's folder was removed, renamed or replaced: check() throws then, whatever the policy is.
  void look_at_folder();
  /// Whether check() throws.
  bool has_failed() const;
  /// Puts the first of `iterations` whose snapshot is there and sound into the learners of all processes, once
  /// everything is on disk. Returns that iteration; nothing where there is none. A collective.
  std::optional<std::uint64_t> load(Learner& learner, const std::vector<std::uint64_t>& iterations);
  /// Likewise the model of one snapshot into their copies; `averaged`: see read_model(). False where there is none.
  bool load(ValidationReplica& copy, std::uint64_t iteration, bool averaged);
  /// Waits until everything is on disk. False if the last snapshot could not be written; its reason was logged.
  bool finish();

 private:
  struct Impl;
  std::optional<std::uint64_t> choose(const std::vector<std::uint64_t>& iterations,
                                      std::optional<OpenSnapshot>& snapshot);

  Group& group_;
  const bool skip_when_busy_;
  std::unique_ptr<Impl> impl_;  // null in all processes but the first
};

/// The tensors of a snapshot, in memory.
LearnerState read_tensors(const OpenSnapshot& snapshot);
/// Those of the model alone; `averaged`: what validation saw, averages where there are any.
std::vector<StateTensor> read_model(const OpenSnapshot& snapshot, bool averaged = false);

}  // namespace flowtrain
