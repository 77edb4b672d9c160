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
  std::size_t keep_best = 1;
  std::string config_toml;       ///< goes into every snapshot, so that each stands for itself
};

/// Writes snapshots one after the other. One thread calls.
class SnapshotBranch {
 public:
  SnapshotBranch(SnapshotPolicy policy, MetricsFile* metrics);
  ~SnapshotBranch();
  SnapshotBranch(const SnapshotBranch&) = delete;

  /// Copies the state and returns; waits first if the one before is still being written. `best` makes it the target of
  /// snapshots/best. A failed write is a warning, and training goes on: the next one tries anew.
  void take(Learner& learner, const RunState& state, bool best);
  /// Waits until everything is on disk. False if the last snapshot could not be written; its reason was logged.
  bool finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The tensors of a snapshot, in memory.
LearnerState read_tensors(const OpenSnapshot& snapshot);

}  // namespace flowtrain
