#pragma once
// Training steps compute the scalars that optimizers lower from a micro-batch.

#include <string>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// The prefix of the name of a part of the loss in all reports.
inline const std::string part_of_loss = "loss.";

/// Computes the losses of a micro-batch. The engine does the rest: backward for each optimizer's own parameters, mixed
/// precision, accumulation, averages over processes, clipping, updates. One thread; draws come from torch's generator,
/// which the engine seeds for each micro-batch and each validation.
class Step {
 public:
  virtual ~Step() = default;

  /// Returns the names of the losses that optimizers may lower ([[optim]] losses). The first is the default.
  virtual std::vector<std::string> losses() const = 0;
  /// Returns the names of the scalars that a pass for `wanted`, some of losses(), reports beside them. Several losses
  /// are themselves reported as `loss.<name>`.
  virtual std::vector<std::string> scalars(const std::vector<std::string>& wanted) const = 0;
  /// Returns at least the `wanted` losses, differentiable, and their scalars: f32, means over the batch's rows.
  /// Optimizers with other losses get passes of their own, all at the weights from before the iteration.
  virtual NamedTensors operator()(const NamedTensors& batch, const std::vector<std::string>& wanted) = 0;

  struct Evaluated {
    NamedTensors outputs;  ///< outputs for metrics
    at::Tensor loss;       ///< the loss that validation reports: scalar f32, a mean over the batch's rows
  };
  /// Evaluates a batch in eval mode, without gradients.
  virtual Evaluated evaluate(const NamedTensors& batch) = 0;
};

}  // namespace flowtrain::nets
