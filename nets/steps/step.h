#pragma once
// Training steps compute the scalars that optimizers lower from a micro-batch.

#include <string>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// The prefix of the name of a part of the loss in all reports.
inline const std::string part_of_loss = "loss.";

/// Returns the name under which a step gives the number of terms that a loss or scalar is the mean of.
inline std::string count_of(const std::string& name) { return name + ".count"; }

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
  /// Returns at least the `wanted` losses, differentiable, and their scalars: f32, means over the batch's rows, and
  /// count_of() each that counts(). Optimizers with other losses get passes of their own, all at the weights from
  /// before the iteration.
  virtual NamedTensors operator()(const NamedTensors& batch, const std::vector<std::string>& wanted) = 0;
  /// Returns whether a loss or scalar is the mean over terms that it counts itself, such as tokens that are not
  /// ignored: a scalar of any type on its device. Without terms it is 0. The mean of an iteration is then over all of
  /// its terms.
  virtual bool counts(const std::string& name) const {
    static_cast<void>(name);
    return false;
  }

  struct Evaluated {
    NamedTensors outputs;   ///< outputs for metrics
    at::Tensor loss;        ///< the loss that validation reports: scalar f32, or f32 (losses()), whose sum it reports
    at::Tensor count = {};  ///< the number of terms that each is the mean of, in its shape; undefined: the batch's rows
  };
  /// Evaluates a batch in eval mode, without gradients.
  virtual Evaluated evaluate(const NamedTensors& batch) = 0;
  /// Returns the outputs of evaluate(), for a batch whose targets are unknown: without the loss, where that can be left
  /// out.
  virtual NamedTensors predict(const NamedTensors& batch) { return evaluate(batch).outputs; }
};

}  // namespace flowtrain::nets
