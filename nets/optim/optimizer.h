#pragma once
// What optimizers are.

#include <stdexcept>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// Parameters that an optimizer treats alike.
struct ParameterGroup {
  NamedTensors parameters;
  double lr_mult = 1;       ///< what the learning rate is multiplied by
  double weight_decay = 0;  ///< the optimizer's own does not count
};

/// Updates parameters from their .grad. One thread. Equations as torch.optim's of the same name.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// One update; parameters without a gradient are left alone. `skip`, where defined, is a scalar f32 on their device:
  /// 1 leaves all as it is.
  virtual void step(const at::Tensor& skip = {}) = 0;
  /// Drops all gradients (set to none).
  virtual void zero_grad() = 0;
  /// From now on. `momentum`: the one that the entry's traits name; `decay_factor` is what all groups' weight decay is
  /// multiplied by.
  virtual void set_hyper(double lr, double momentum, double decay_factor) = 0;
  /// From now on the learning rate is read from the parameters' device when the update is carried out, so that one that
  /// was captured (a CUDA graph) heeds set_hyper(). Momentum and weight decay stay part of what is captured. Throws
  /// std::runtime_error where it cannot.
  virtual void keep_rate_on_device() { throw std::runtime_error("the optimizer takes its rate from the host only"); }
  /// State tensors named "<slot>.<parameter>", e.g. "exp_avg.fc.weight", "step.fc.weight", "momentum_buffer.fc.weight".
  /// Always complete: slots exist (zero) before the first step, so that a snapshot of iteration 0 loads too. They are
  /// the tensors in use, in the parameters' layout; `step` is an f32 scalar as in torch. To load, copy_ into them.
  virtual NamedTensors state() const = 0;
};

}  // namespace flowtrain::nets
