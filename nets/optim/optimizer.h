#pragma once
// Optimizers on ATen's fused steps: one kernel call for all parameters.

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

struct OptimizerSpec {
  std::string name = "sgd";  ///< sgd, adam, adamw
  double lr = 0.1;
  double momentum = 0;                            ///< sgd
  bool nesterov = false;                          ///< sgd; needs momentum > 0
  double weight_decay = 0;                        ///< sgd, adam: added to the gradient (L2); adamw: decoupled
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;  ///< adam, adamw
};

/// Parameters that an optimizer treats alike.
struct ParameterGroup {
  NamedTensors parameters;
  double lr_factor = 1;     ///< what the learning rate is multiplied by
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
  /// From now on. `momentum` is the first of adam's betas; `decay_factor` is what all groups' weight decay is
  /// multiplied by.
  virtual void set_rates(double lr, double momentum, double decay_factor) = 0;
  /// From now on the learning rate is read from the parameters' device when the update is carried out, so that one that
  /// was captured (a CUDA graph) heeds set_rates(). Momentum and weight decay stay part of what is captured. Throws
  /// std::runtime_error where it cannot.
  virtual void keep_rate_on_device() { throw std::runtime_error("the optimizer takes its rate from the host only"); }
  /// State tensors named "<slot>.<parameter>", e.g. "exp_avg.fc.weight", "step.fc.weight", "momentum_buffer.fc.weight".
  /// Always complete: slots exist (zero) before the first step, so that a snapshot of iteration 0 loads too. They are
  /// the tensors in use, in the parameters' layout; `step` is an f32 scalar as in torch. To load, copy_ into them.
  virtual NamedTensors state() const = 0;
};

/// The groups must not share parameters, and outlive the optimizer's use of them; they share storage. Make it after
/// Net::to, as the state takes the parameters' device and layout. Throws std::invalid_argument for an unknown name, a
/// setting out of range, no parameters, or parameters of several types or devices.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec, const std::vector<ParameterGroup>& groups);
/// Of all parameters alike.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec, const NamedTensors& parameters);
/// Known names, sorted.
std::vector<std::string> optimizer_names();

}  // namespace flowtrain::nets
