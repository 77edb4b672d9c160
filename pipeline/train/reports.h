#pragma once
// What a run tells of its iterations: hooks and loggers hear it here.

#include <cstdint>

#include "pipeline/train/epoch_means.h"
#include "pipeline/train/hook_calls.h"
#include "pipeline/train/logger.h"
#include "pipeline/train/pace.h"
#include "pipeline/train/run_state.h"
#include "stages/group.h"

namespace flowtrain {

/// When reports are due, and what they are measured by.
struct ReportPlan {
  std::uint64_t first = 1, last = 0;  ///< iterations of this start
  std::uint64_t every = 20;           ///< iterations between train lines; 0: none
  std::uint64_t per_epoch = 0;        ///< iterations; 0: the run has no epochs
};

/// Completes each iteration's report and passes it on.
class Reports {
 public:
  Reports(const ReportPlan& plan, const Loggers& loggers, HookCalls& hooks, Group& group, RunState& state)
      : plan_(plan), loggers_(loggers), hooks_(hooks), group_(group), state_(state), means_(state) {}

  /// Whether the iteration's train line is due, whose statistics are then to be read.
  bool due(std::uint64_t iteration) const { return plan_.every > 0 && iteration % plan_.every == 0; }
  /// An iteration has been finished. `event` says what became of it, `metrics` are those of its loss's parts and its
  /// learning rates: empty where they were not read. A collective where due().
  void put(StepEvent event, const Scalars& scalars);
  Pace& pace() { return pace_; }

 private:
  bool ends_epoch() const { return plan_.per_epoch > 0 && state_.iteration % plan_.per_epoch == 0; }
  void complete(StepEvent& event) const;
  void add_to_means(const StepEvent& event, const Scalars& scalars);
  void show(const StepEvent& event, const Scalars& scalars);
  void end_epoch();

  const ReportPlan plan_;
  const Loggers& loggers_;
  HookCalls& hooks_;
  Group& group_;
  RunState& state_;
  Pace pace_;
  EpochMeans means_;
};

}  // namespace flowtrain
