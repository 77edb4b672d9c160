#pragma once
// What is read of a step from the device.

#include <optional>

#include "stages/compute.h"
#include "stages/profile.h"
#include "stages/torch/learner/deferred_steps.h"
#include "stages/torch/learner/train_step.h"

namespace flowtrain {

/// The statistics of the iteration under way, and of those before it that nobody has read.
class StepReadout {
 public:
  /// `profile`: told how long others were waited for; may be null.
  explicit StepReadout(Profile* profile) : profile_(profile) {}

  /// After finish_gradients(). The first time of an iteration it waits for the device.
  const StepStats& read(const TrainStep& step);
  /// Before the update: what was not read is kept for the next time. Waits for nothing.
  void keep(const TrainStep& step);
  /// Before the next iteration: what was read is known.
  void forget(TrainStep& step);

 private:
  Profile* profile_;
  std::optional<StepStats> stats_;
  DeferredSteps deferred_;
};

}  // namespace flowtrain
