#pragma once
// Optimizers on ATen's fused steps: one kernel call for all parameters.

#include <memory>
#include <string>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

struct OptimizerSpec {
  std::string name = "sgd";  ///< sgd, adam, adamw
  double lr = 0.1;
  double momentum = 0;       ///< sgd
  bool nesterov = false;     ///< sgd; needs momentum > 0
  double weight_decay = 0;   ///< sgd, adam: added to the gradient (L2); adamw: decoupled
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;  ///< adam, adamw
};

/// Updates parameters from their .grad. One thread. Equations as torch.optim's of the same name.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// One update; parameters without a gradient are left alone.
  virtual void step() = 0;
  /// Drops all gradients (set to none).
  virtual void zero_grad() = 0;
  virtual void set_lr(double lr) = 0;
  /// State tensors named "<slot>.<parameter>", e.g. "exp_avg.fc.weight", "step.fc.weight", "momentum_buffer.fc.weight".
  /// Always complete: slots exist (zero) before the first step, so that a snapshot of iteration 0 loads too. They are
  /// the tensors in use, in the parameters' layout; `step` is an f32 scalar as in torch. To load, copy_ into them.
  virtual NamedTensors state() const = 0;
};

/// `parameters` must outlive the optimizer's use of them; they share storage. Make it after Net::to, as the state takes
/// the parameters' device and layout. Throws std::invalid_argument for an unknown name, a setting out of range, no
/// parameters, or parameters of several types or devices.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec, const NamedTensors& parameters);
/// Known names, sorted.
std::vector<std::string> optimizer_names();

/// Scales all gradients so that their total 2-norm is at most max_norm (> 0; infinity: only measures). Returns the norm
/// before clipping, a scalar tensor on the device of the gradients; 0 where there are none. Never waits for the device.
/// Throws std::invalid_argument for another max_norm.
at::Tensor clip_grad_norm(const NamedTensors& parameters, double max_norm);

}  // namespace flowtrain::nets
