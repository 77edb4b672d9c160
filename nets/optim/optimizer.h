#pragma once
// The interface of optimizers.

#include <stdexcept>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// Parameters that an optimizer treats alike.
struct ParameterGroup {
  NamedTensors parameters;
  double lr_mult = 1;       ///< factor of the learning rate
  double weight_decay = 0;  ///< weight decay of the group; it replaces the optimizer's own
};

/// Updates parameters from their .grad. One thread. The equations are those of torch.optim's class of the same name.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// Makes one update; parameters without a gradient are left alone. `skip`, if defined, is a scalar f32 on their
  /// device: 1 leaves everything unchanged.
  virtual void step(const at::Tensor& skip = {}) = 0;
  /// Drops all gradients.
  virtual void zero_grad() = 0;
  /// Sets the hyperparameters of the next updates. `momentum` sets the key that the entry's traits name; `decay_factor`
  /// multiplies the weight decay of all groups.
  virtual void set_hyper(double lr, double momentum, double decay_factor) = 0;
  /// Makes updates read the learning rate from the parameters' device when they run, so that a captured update (a CUDA
  /// graph) follows set_hyper(). Momentum and weight decay stay as captured. Throws std::runtime_error if it cannot.
  virtual void keep_rate_on_device() {
    throw std::runtime_error("the optimizer reads its learning rate on the host only");
  }
  /// Returns the state tensors in use, named "<slot>.<parameter>", e.g. "exp_avg.fc.weight", "step.fc.weight",
  /// "momentum_buffer.fc.weight". Slots exist (zero) before the first step, so a snapshot of iteration 0 loads too.
  /// Tensors have the parameters' layout; `step` is an f32 scalar as in torch. Copy into them to load.
  virtual NamedTensors state() const = 0;
};

}  // namespace flowtrain::nets
