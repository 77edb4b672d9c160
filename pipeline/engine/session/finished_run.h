#pragma once
// The end of a run: its last lines, and the weights that it ends with.

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/base/telemetry/cpu_meter.h"
#include "pipeline/base/telemetry/metrics.h"
#include "pipeline/engine/session/session.h"
#include "pipeline/engine/train/snapshot_branch.h"
#include "pipeline/engine/train/trainer.h"

namespace flowtrain {

class Interrupt;

/// Reports how a run ended, in the log and in metrics.jsonl.
class FinishedRun {
 public:
  /// `metrics` may be null. Everything outlives this object.
  FinishedRun(const Session& session, const RunPlan& run_plan, const TrainerResult& result, const RunState& state,
              MetricsFile* metrics)
      : session_(session),
        run_plan_(run_plan),
        group_(*session.options().group),
        result_(result),
        state_(state),
        metrics_(metrics) {}

  /// Logs what was done and what limited it. `cpu` is the CPU time that the run got.
  void summarise(const Interrupt& interrupt, const CpuTime& cpu) const;
  /// Logs how many requests to servers were repeated.
  void log_retries() const;
  /// Loads the best weights if snapshot.end_with_best says so, writes the last line of metrics.jsonl, and returns the
  /// text of result.json. `snapshots` may be null. A collective.
  std::string finish(Learner& learner, const std::vector<BestRule>& rules, SnapshotBranch* snapshots) const;

 private:
  void load_best(Learner& learner, std::uint64_t best, SnapshotBranch& snapshots) const;
  std::string common_params_xxh64(Learner& learner) const;
  void log_verdict(const CpuTime& cpu) const;

  const Session& session_;
  const RunPlan& run_plan_;
  Group& group_;
  const TrainerResult& result_;
  const RunState& state_;
  MetricsFile* metrics_;
};

}  // namespace flowtrain
