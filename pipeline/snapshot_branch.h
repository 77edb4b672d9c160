#pragma once
// The snapshot branch: the training line pays one copy of the state; writing, hashing, fsync and rename happen here, on
// a thread of its own.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/run_state.h"
#include "pipeline/snapshot/snapshot_files.h"
#include "pipeline/telemetry/metrics.h"
#include "stages/compute.h"

namespace flowtrain {

/// What is kept, and where.
struct SnapshotPolicy {
  std::filesystem::path folder;  ///< runs/x/snapshots
  std::size_t keep_last = 3;
  std::vector<BestRule> best = {{"loss", true}};
  std::uint64_t keep_every = 0;  ///< iterations that this divides are kept for good; 0: none
  bool skip_when_busy = false;   ///< a periodic one is left out while the one before is still being written
  bool stop_on_error = false;    ///< check() throws once one could not be written
  std::string config_toml;       ///< goes into every snapshot, so that each stands for itself
};

/// What a snapshot is for.
enum class SnapshotReason {
  period,  ///< may be left out (SnapshotPolicy::skip_when_busy)
  best,    ///< by one of SnapshotPolicy::best, or may become it
  end,     ///< of a run, or of its beginning
};

/// Writes snapshots one after the other. One thread calls.
class SnapshotBranch {
 public:
  SnapshotBranch(SnapshotPolicy policy, MetricsFile* metrics);
  ~SnapshotBranch();
  SnapshotBranch(const SnapshotBranch&) = delete;

  /// Copies the state and returns; waits first if the one before is still being written. False: left out, with a
  /// warning. A failed write, for whatever reason, is a warning, and training goes on: the next one tries anew.
  /// `links`: snapshots/<link> that are to lead to it.
  bool take(Learner& learner, const RunState& state, SnapshotReason reason, const std::vector<std::string>& links = {});
  /// Leads `links` to the snapshot of `iteration`, taken before, as take() does. `state`: as it is now.
  void mark(std::uint64_t iteration, const RunState& state, const std::vector<std::string>& links);
  /// Throws UserError(snapshot) where a write has failed and the policy is to stop then.
  void check() const;
  /// Whether check() throws.
  bool has_failed() const;
  /// Waits until everything is on disk; then the newest snapshot that is whole, of at most iteration `limit`.
  std::optional<OpenSnapshot> newest(std::uint64_t limit);
  /// Waits likewise; the snapshot of that iteration. Throws UserError(snapshot) where it is not there, or damaged.
  OpenSnapshot open(std::uint64_t iteration);
  /// Waits until everything is on disk. False if the last snapshot could not be written; its reason was logged.
  bool finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The tensors of a snapshot, in memory. `averaged`: the model is what validation saw, averages where there are any.
LearnerState read_tensors(const OpenSnapshot& snapshot, bool averaged = false);

}  // namespace flowtrain
