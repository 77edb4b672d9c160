#pragma once
// The compute thread's loop, and one step of it.

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/base/errors/policies.h"
#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/graph/outlet.h"
#include "pipeline/engine/graph/run_plan.h"
#include "pipeline/engine/train/hook_calls.h"
#include "pipeline/engine/train/hyper_adjuster.h"
#include "pipeline/engine/train/loader_tuning.h"
#include "pipeline/engine/train/logger.h"
#include "pipeline/engine/train/nonfinite_handler.h"
#include "pipeline/engine/train/reports.h"
#include "pipeline/engine/train/run_flags.h"
#include "pipeline/engine/train/run_state.h"
#include "pipeline/engine/train/sample_account.h"
#include "pipeline/engine/train/snapshot_branch.h"
#include "pipeline/engine/train/snapshots.h"
#include "pipeline/engine/train/step_errors.h"
#include "pipeline/engine/train/validations.h"
#include "pipeline/engine/validation/best.h"
#include "pipeline/engine/validation/early_stop.h"
#include "pipeline/engine/validation/validation.h"
#include "pipeline/engine/verdict/tuner.h"
#include "stages/core/group.h"
#include "stages/hooks/hooks.h"
#include "stages/loader/bad_samples.h"
#include "stages/model/compute.h"

namespace flowtrain {

class HashJournal;
class Interrupt;

/// The rules for what follows from a step.
struct StepRules {
  NonFinitePolicy nonfinite = {};
  ErrorPolicy errors = {};  ///< train.on_error
  std::vector<StatefulSchedule> schedules = {};
};

/// The receivers of reports, and what reports are made of.
struct ReportParts {
  Loggers loggers = {};
  Every every = 20;                       ///< The iterations with a train line.
  Every histograms_every = {};            ///< The iterations with histograms of weights and gradients.
  HashJournal* journal = nullptr;         ///< The journal of hashed iterations; null if the plan has none.
  Profile* profile = nullptr;             ///< Null if phases are not timed.
  const MachineMeter* machine = nullptr;  ///< Null if nobody measures.
  double peak_flops = 0;                  ///< The peak of this process's device, per second; 0: not known.
};

/// The parts that the loop works on; everything outlives the trainer. Either all processes or none of them have
/// `snapshots` and `interrupt`.
struct TrainerParts {
  RunPlan run_plan;
  Loader& loader;
  Learner* learner = nullptr;
  Group* group = &solo_group();  ///< The processes that train together.
  BadSamples* bad_samples = nullptr;
  Tuner* tuner = nullptr;                 ///< Null if the loader keeps its shape.
  Hooks* hooks = nullptr;                 ///< Null if there are none.
  const Interrupt* interrupt = nullptr;   ///< Null if signals are not looked at.
  Every epoch = {};                       ///< The last iterations of epochs; off if the run has none.
  Outlet<SnapshotBranch> snapshots = {};  ///< Leads nowhere if nothing is kept.
  double snapshot_every_s = 0;            ///< The seconds between snapshots that no plan knows; 0 = never.
  StepRules rules = StepRules();          ///< GCC 12 warns of `{}`.
  ValidationParts validation = {};
  ReportParts reports = {};
};

/// The way in which a run ended, and what it has done.
struct TrainerResult : RunEnd {
  std::uint64_t iteration = 0;  ///< The last iteration that was finished.
  double wall_s = 0;            ///< The time of the loop.
  PipelineLoad load;            ///< The load since the loader got its shape.
};

/// Trains. The thread that calls run() is the compute thread.
class Trainer {
 public:
  /// Continues after `state`; that of a new run is at iteration 0.
  Trainer(TrainerParts parts, RunState state);

  /// Trains from the plan's first iteration to its last, or to an interruption. Throws errors of every stage in their
  /// turn, after all threads have been stopped.
  TrainerResult run();
  const RunState& state() const { return state_; }

 private:
  void loop();
  bool iterate();
  std::optional<Ticket> next_batch(std::uint32_t micro);
  bool discard_iteration(std::uint32_t micro);
  StepFlags own_flags() const;
  bool wants_stats(const Plan& plan) const;
  void show_histograms(std::uint64_t iteration);
  void report(StepEvent event, bool hashed, std::optional<StepStats> stats);
  void validate(const Plan& plan);
  void snapshot(SnapshotReason reason);
  TrainerResult conclude();

  TrainerParts parts_;
  RunState state_;
  HookCalls hooks_;
  RunFlags flags_;
  SampleAccount samples_;
  ThroughputMeter meter_;
  Reports reports_;
  HyperAdjuster hyper_;
  StepErrors errors_;
  NonFiniteHandler nonfinite_;
  Snapshots snapshots_;
  LoaderTuning tuning_;
  Validations validations_;
};

/// Returns `params_xxh64`, the hash over the parameters' bytes in the order of their names.
std::string params_xxh64(Learner& learner);

}  // namespace flowtrain
