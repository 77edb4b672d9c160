#pragma once
// Training steps: from a micro-batch to the scalars that optimizers lower.

#include <string>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// What stands before the name of a part of the loss, wherever values are told.
inline const std::string part_of_loss = "loss.";

/// What is computed for a micro-batch. The engine does the rest: backward for each optimizer's own parameters, mixed
/// precision, accumulation, averages over processes, clipping, updates. One thread; draws come from torch's generator,
/// which the engine seeds for each micro-batch and each validation.
class Step {
 public:
  virtual ~Step() = default;

  /// Names of the losses that optimizers may lower ([[optim]] losses). The first is lowered where nothing is said.
  virtual std::vector<std::string> losses() const = 0;
  /// What a pass for `wanted`, some of losses(), reports beside them: under these names. The losses themselves, where
  /// there are several, are reported as `loss.<name>`.
  virtual std::vector<std::string> scalars(const std::vector<std::string>& wanted) const = 0;
  /// One pass: at least the `wanted` losses, differentiable, and their values; scalars f32, means over the batch's
  /// rows. Optimizers with other losses get passes of their own, all at the weights from before the iteration.
  virtual NamedTensors operator()(const NamedTensors& batch, const std::vector<std::string>& wanted) = 0;

  struct Evaluated {
    NamedTensors outputs;  ///< for metrics
    at::Tensor loss;       ///< what validation reports as such: scalar f32, a mean over the batch's rows
  };
  /// In eval mode, without gradients.
  virtual Evaluated evaluate(const NamedTensors& batch) = 0;
};

}  // namespace flowtrain::nets
