#pragma once
// The hyper-parameters that an iteration is made with: the schedules' and what is not known beforehand.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pipeline/graph/hyper_parameters.h"
#include "pipeline/train/hook_calls.h"
#include "pipeline/train/run_state.h"
#include "stages/compute.h"

namespace flowtrain {

/// Applies rollbacks, schedules with state and hooks to the plan's hyper-parameters, in this order, and gives them to
/// the learner. The only place that does.
class HyperAdjuster {
 public:
  /// `labels`: of the optimizers, in their order. The schedules go on from the run's state. Throws UserError(snapshot)
  /// for a state that one of them refuses.
  HyperAdjuster(Learner& learner, std::vector<std::string> labels, std::vector<StatefulSchedule> schedules,
                HookCalls& hooks, RunState& state);

  /// An iteration begins: hooks are called. `scheduled`: one for each optimizer.
  void begin_iteration(std::uint64_t iteration, const std::vector<HyperParameters>& scheduled);
  /// Within an iteration, after a rollback has lowered the learning rate.
  void lower();
  /// The schedules take a validation's metrics.
  void enter(const Scalars& scalars);

  /// Of the first optimizer.
  double lr() const { return used_.front().lr; }
  /// "lr.<label>" of all optimizers, where there are several.
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
