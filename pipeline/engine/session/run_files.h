#pragma once
// The files of a training run.

#include <filesystem>
#include <memory>
#include <optional>

#include "pipeline/base/telemetry/json_lines.h"
#include "pipeline/base/telemetry/metrics.h"
#include "pipeline/engine/session/start.h"
#include "pipeline/engine/train/run_state.h"
#include "pipeline/engine/train/snapshot_branch.h"

namespace flowtrain {

class Interrupt;

/// Removes the folder of a new run that fails before it trains, for example because data is missing.
class FailedStart {
 public:
  FailedStart(const Start& start, Interrupt& interrupt) : start_(start), interrupt_(interrupt) {}
  ~FailedStart();
  FailedStart(const FailedStart&) = delete;
  /// Keeps the folder.
  void succeeded();

 private:
  const Start& start_;
  Interrupt& interrupt_;
  bool done_ = false;
};

/// The files to which rank 0 appends lines.
class Journals {
 public:
  /// Opens the files of the run's folder. Removes the lines of iterations that a resumed run repeats after `state`.
  Journals(const Start& start, const RunState& state);

  MetricsFile& metrics() { return *metrics_; }
  JsonLinesFile& bad_samples() { return *bad_samples_; }

 private:
  std::optional<MetricsFile> metrics_;
  std::optional<JsonLinesFile> bad_samples_;
};

/// Returns the rules for the run's snapshots, by [snapshot].
SnapshotPolicy snapshot_policy(const Start& start, const Every& epoch);

}  // namespace flowtrain
