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

/// Applies rollbacks, schedules with state and hooks to the plan's hyper-parameters, in this order. No other class
/// does.
class HyperAdjuster {
 public:
  /// `labels` names the optimizers in their order. The schedules go on from the run's state. Throws UserError(snapshot)
  /// for a state that one of them refuses.
  HyperAdjuster(std::vector<std::string> labels, std::vector<StatefulSchedule> schedules, HookCalls& hooks,
                const RunProgress& progress, HyperState& state);

  /// Begins an iteration and calls the hooks. `scheduled` has the plan's hyper-parameters of each optimizer. Returns
  /// whether used() has changed.
  bool begin_iteration(std::uint64_t iteration, const std::vector<HyperParameters>& scheduled);
  /// Multiplies the learning rate of this iteration and all later ones. Returns whether used() has changed.
  bool lower(double factor);
  /// Gives a validation's metrics to the schedules.
  void record(const Scalars& scalars);

  /// Returns the hyper-parameters of the current iteration, by optimizer.
  std::span<const HyperParameters> used() const { return used_; }
  /// Returns the learning rate of the first optimizer.
  double lr() const { return used_.front().lr; }
  /// Adds "lr.<label>" for each optimizer, if there are several.
  void append_hyper(Scalars& scalars) const;

 private:
  std::vector<HyperParameters> adjusted() const;
  bool use(std::vector<HyperParameters> hyper);

  const std::vector<std::string> labels_;
  const std::vector<StatefulSchedule> schedules_;
  HookCalls& hooks_;
  const RunProgress& progress_;
  HyperState& state_;
  std::uint64_t iteration_ = 0;
  std::vector<HyperParameters> scheduled_, used_;
};

}  // namespace flowtrain
