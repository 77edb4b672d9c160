#pragma once
// The compute thread's loop, and what one step is.

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
#include "pipeline/engine/train/judge.h"
#include "pipeline/engine/train/loader_tuning.h"
#include "pipeline/engine/train/logger.h"
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

/// What the loop works on; everything outlives the trainer. `snapshots` leads to nowhere, and `interrupt` is null, in
/// runs without them: in all processes, or in none.
struct TrainerParts {
  RunPlan run_plan;
  Loader& loader;
  std::vector<ValidationSet> validation = {};  ///< [data.val]'s first
  std::vector<BestRule> best =
      BestRule::by_loss();  ///< decide which snapshots are best; of each validation the first rule is told
  Learner* learner = nullptr;
  ValidationReplica* validation_replica = nullptr;  ///< for `beside`
  Outlet<OverlappedValidation> beside;              ///< to nowhere: training waits for validations
  bool averages = false;                            ///< validation sees averaged weights, where there are any
  Group* group = &solo_group();                     ///< those who train together
  BadSamples* bad_samples = nullptr;
  Loggers loggers = {};
  Outlet<SnapshotBranch> snapshots;
  const Interrupt* interrupt = nullptr;
  double snapshot_every_s = 0;  ///< of time, beside the plan's snapshots; 0 = never
  Tuner* tuner = nullptr;       ///< of `loader`; null: the loader keeps its shape
  Every display_every = 20;     ///< from one train line to the next
  NonFinitePolicy nonfinite = {};
  ErrorPolicy train_errors = {}, val_errors = {};
  EarlyStop early_stop = {};
  std::vector<StatefulSchedule> schedules = {};
  Hooks* hooks = nullptr;                 ///< null: nobody wants to be called
  Profile* profile = nullptr;             ///< told of phases; null: nobody asks
  HashJournal* journal = nullptr;         ///< of the iterations that the plan hashes; not null where it hashes any
  const MachineMeter* machine = nullptr;  ///< null: nobody measures
  double peak_flops = 0;                  ///< of this process's device, per second; 0: not known
  Every histograms_every = {};            ///< from one histogram of weights and gradients to the next
  Every epoch = {};                       ///< for hooks and reports; off: the run has no epochs
};

/// How a run ended.
struct TrainerResult : RunEnd {
  std::uint64_t iteration = 0;  ///< the last one that was finished
  double wall_s = 0;            ///< of the loop
  PipelineLoad load;            ///< since the loader has its shape
};

/// Runs on the thread that calls run(), which is the compute thread.
class Trainer {
 public:
  /// Goes on from `state` (a fresh one: iteration 0).
  Trainer(TrainerParts parts, RunState state);

  /// From the plan's first iteration to its last, or to an interruption. Errors of every stage surface here, in
  /// their turn, after all threads have been stopped.
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
  void report(StepEvent event, const std::optional<StepStats>& stats);
  void validate(const Plan& plan);
  void snapshot(SnapshotReason reason);
  bool goes_on();
  TrainerResult conclude();

  TrainerParts parts_;
  RunState state_;
  HookCalls hooks_;
  RunFlags flags_;
  SampleAccount samples_;
  Reports reports_;
  HyperAdjuster hyper_;
  StepErrors errors_;
  Judge judge_;
  Snapshots snapshots_;
  LoaderTuning tuning_;
  Validations validations_;
};

/// `params_xxh64`: over the parameters' bytes in name order.
std::string params_xxh64(Learner& learner);

}  // namespace flowtrain
