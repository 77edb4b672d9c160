#pragma once
// The values of a step that are read from the device.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>

#include "stages/model/compute.h"
#include "stages/torch/step/train_step.h"
#include "stages/trace/profile.h"

namespace flowtrain {

/// Keeps the statistics of each step on the device, so that training need not wait for it after each one.
class DeferredSteps {
 public:
  /// `loss` and `norm` (of the gradients) are f32 scalars on the device; `overflow` is 1 if half precision left the
  /// step out, otherwise 0; undefined in full precision. It does not wait.
  void add(std::uint64_t iteration, const at::Tensor& loss, const at::Tensor& norm, const at::Tensor& overflow);
  /// Returns the input of summary(), f64 on the values' device; undefined if there were no steps.
  at::Tensor kept() const;
  /// Returns the statistics of the steps since forget(), from kept() values that have been read.
  DeferredStats summary(std::span<const double> read) const;
  void forget() { steps_ = 0; }

 private:
  std::uint64_t steps_ = 0;
  at::Tensor
      counts_;  // i64: first step that was not finite (0: none), overflows, the last of them in a row, most in a row
  at::Tensor scalars_;  // f32: that first step's loss and norm
};

/// The statistics of the current iteration, and of earlier ones that nobody has read.
class StepReadout {
 public:
  /// `profile` gets the time spent waiting for others; it may be null.
  explicit StepReadout(Profile* profile) : profile_(profile) {}

  /// Returns the statistics after finish_gradients(). It waits for the device the first time in an iteration.
  const StepStats& read(const TrainStep& step);
  /// Keeps unread statistics for the next time, before the update. It does not wait.
  void keep(const TrainStep& step);
  /// Forgets statistics that were read, before the next iteration.
  void forget(TrainStep& step);

 private:
  Profile* profile_;
  std::optional<StepStats> stats_;
  DeferredSteps deferred_;
};

}  // namespace flowtrain
