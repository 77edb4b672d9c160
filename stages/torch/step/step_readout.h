#pragma once
// What is read of a step from the device.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>

#include "stages/model/compute.h"
#include "stages/torch/step/train_step.h"
#include "stages/trace/profile.h"

namespace flowtrain {

/// Keeps on the device what has to be known of each step, so that training need not wait for the device after each one.
class DeferredSteps {
 public:
  /// `loss` and `norm` (of the gradients) f32 scalars on the device; `overflow` 1 where half precision left the step
  /// out, else 0; undefined in full precision. Waits for nothing.
  void add(std::uint64_t iteration, const at::Tensor& loss, const at::Tensor& norm, const at::Tensor& overflow);
  /// What summary() is made of, f64 where the values are; undefined where there were no steps.
  at::Tensor kept() const;
  /// Of the steps since forget(): those of kept(), which have been read.
  DeferredStats summary(std::span<const double> read) const;
  void forget() { steps_ = 0; }

 private:
  std::uint64_t steps_ = 0;
  at::Tensor
      counts_;  // i64: first step that was not finite (0: none), overflows, of these in a row at the end, most in a row
  at::Tensor scalars_;  // f32: that first step's loss and norm
};

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
