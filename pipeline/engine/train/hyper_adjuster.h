#pragma once
// The hyper-parameters of an iteration: those of the plan, changed by what is not known beforehand.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pipeline/engine/graph/hyper_parameters.h"
#include "pipeline/engine/train/hook_calls.h"
#include "pipeline/engine/train/run_state.h"
#include "stages/model/compute.h"

namespace flowtrain {

/// Applies rollbacks, schedules with state and hooks to the plan's hyper-parameters, in this order, and gives them to
/// the learner. The only place that does.
class HyperAdjuster {
 public:
  /// `labels`: of the optimizers, in their order. The schedules go on from the run's state. Throws UserError(snapshot)
  /// for a state that one of them refuses.
  HyperAdjuster(Learner& learner, std::vector<std::string> labels, std::vector<StatefulSchedule> schedules,
                HookCalls& hooks, RunState& state);

  /// Begins an iteration and calls the hooks. `scheduled`: one for each optimizer.
  void begin_iteration(std::uint64_t iteration, const std::vector<HyperParameters>& scheduled);
  /// Called within an iteration, after a rollback has lowered the learning rate.
  void lower();
  /// Gives a validation's metrics to the schedules.
  void record(const Scalars& scalars);

  /// The learning rate of the first optimizer.
  double lr() const { return used_.front().lr; }
  /// Adds "lr.<label>" for each optimizer, if there are several.
  void append_hyper(Scalars& scalars) const;

 private:
  std::vector<HyperParameters> adjusted() const;
  void use(std::vector<HyperParameters> hyper);

  Learner& learner_;
  const std::vector<std::string> labels_;
  const std::vector<StatefulSchedule> schedules_;
  HookCalls& hooks_;
  RunState& state_;
  std::uint64_t iteration_ = 0;
  std::vector<HyperParameters> scheduled_, used_;
};

}  // namespace flowtrain
