#include "nets/optimizer.h"

#include <ATen/ATen.h>

#include <cmath>
#include <stdexcept>

#include "nets/names.h"

namespace flowtrain::nets {
namespace {

using Tensors = std::vector<at::Tensor>;

/// One kind of state, a tensor for every parameter.
struct Slot {
  std::string name;
  Tensors all;
  Tensors active;  ///< of the parameters that have a gradient in this step
};

/// The kernels walk parameter, gradient and state by one index, so their memory layouts must agree. Autograd sees to it
/// for the gradients that it makes; one that was assigned may differ.
at::Tensor laid_out_like(const at::Tensor& parameter, const at::Tensor& gradient) {
  if (gradient.strides() == parameter.strides()) return gradient;
  return at::empty_like(parameter).copy_(gradient);
}

/// What the optimizers share: who takes part in a step, and the state's names.
class FusedOptimizer : public Optimizer {
 public:
  FusedOptimizer(double lr, const NamedTensors& parameters) : lr_(lr), parameters_(parameters) {}

  void step() final {
    const at::NoGradGuard no_grad;
    collect();
    if (!active_.empty()) update();
  }

  void zero_grad() final {
    for (const auto& [name, parameter] : parameters_) parameter.mutable_grad().reset();
  }

  void set_lr(double lr) final { lr_ = lr; }

  NamedTensors state() const final {
    NamedTensors tensors;
    for (const Slot& slot : slots_) {
      std::size_t i = 0;
      for (const auto& [name, parameter] : parameters_) tensors.set(slot.name + "." + name, slot.all[i++]);
    }
    return tensors;
  }

 protected:
  /// Adds a slot of zeros, shaped like the parameters or one f32 number each, and returns its index.
  std::size_t add_slot(const std::string& name, bool scalar = false) {
    Slot slot{name, {}, {}};
    for (const auto& [parameter_name, parameter] : parameters_) {
      const at::Tensor like = parameter.detach();
      slot.all.push_back(scalar ? at::zeros({}, like.options().dtype(at::kFloat)) : at::zeros_like(like));
    }
    slots_.push_back(std::move(slot));
    return slots_.size() - 1;
  }

  virtual void update() = 0;

  double lr_;
  Tensors active_, gradients_;  ///< parameters with a gradient, and those gradients
  std::vector<Slot> slots_;

 private:
  void collect() {
    active_.clear();
    gradients_.clear();
    for (Slot& slot : slots_) slot.active.clear();
    std::size_t i = 0;
    for (const auto& [name, parameter] : parameters_) {
      if (parameter.grad().defined()) {
        active_.push_back(parameter);
        gradients_.push_back(laid_out_like(parameter, parameter.grad()));
        for (Slot& slot : slots_) slot.active.push_back(slot.all[i]);
      }
      ++i;
    }
  }

  NamedTensors parameters_;
};

/// Momentum as torch.optim.SGD with dampening 0. There the first step sets the buffer to the gradient; here the buffer
/// starts at zero, and momentum * 0 + gradient is the same.
class Sgd final : public FusedOptimizer {
 public:
  Sgd(const OptimizerSpec& spec, const NamedTensors& parameters) : FusedOptimizer(spec.lr, parameters), spec_(spec) {
    if (spec.momentum > 0) add_slot("momentum_buffer");
  }

 private:
  void update() override {
    const Tensors none;
    at::_fused_sgd_(active_, gradients_, slots_.empty() ? none : slots_.front().active, spec_.weight_decay,
                    spec_.momentum, lr_, /*dampening=*/0, spec_.nesterov, /*maximize=*/false, /*is_first_step=*/false);
  }

  OptimizerSpec spec_;
};

/// D. P. Kingma, J. Ba, "Adam", ICLR 2015; adamw: I. Loshchilov, F. Hutter, "Decoupled weight decay regularization",
/// ICLR 2019.
class Adam final : public FusedOptimizer {
 public:
  Adam(const OptimizerSpec& spec, const NamedTensors& parameters)
      : FusedOptimizer(spec.lr, parameters),
        spec_(spec),
        step_(add_slot("step", /*scalar=*/true)),
        exp_avg_(add_slot("exp_avg")),
        exp_avg_sq_(add_slot("exp_avg_sq")) {}

 private:
  void update() override {
    at::_foreach_add_(slots_[step_].active, 1);
    // Each of the two has overloads for lr as a number and as a tensor; this type names the former.
    using List = at::TensorList;
    using Scale = const std::optional<at::Tensor>&;
    using Step = void (*)(List, List, List, List, List, List, double, double, double, double, double,
                          bool, bool, Scale, Scale);
    const bool decoupled = spec_.name == "adamw";
    const auto step = decoupled ? static_cast<Step>(at::_fused_adamw_) : static_cast<Step>(at::_fused_adam_);
    step(active_, gradients_, slots_[exp_avg_].active, slots_[exp_avg_sq_].active, /*max_exp_avg_sqs=*/{},
         slots_[step_].active, lr_, spec_.beta1, spec_.beta2, spec_.weight_decay, spec_.eps, /*amsgrad=*/false,
         /*maximize=*/false, /*grad_scale=*/{}, /*found_inf=*/{});
  }

  OptimizerSpec spec_;
  std::size_t step_, exp_avg_, exp_avg_sq_;
};

void expect(const OptimizerSpec& spec, bool good, const char* key, double value, const char* expected) {
  if (good) return;
  throw std::invalid_argument(c10::str("optimizer ", spec.name, ": ", key, " is ", value, ", expected ", expected));
}

void check(const OptimizerSpec& spec, const NamedTensors& parameters) {
  expect(spec, std::isfinite(spec.lr) && spec.lr >= 0, "lr", spec.lr, "0 or more");
  expect(spec, spec.momentum >= 0 && spec.momentum < 1, "momentum", spec.momentum, "0 <= momentum < 1");
  expect(spec, !spec.nesterov || spec.momentum > 0, "momentum", spec.momentum, "momentum > 0 where nesterov is on");
  expect(spec, std::isfinite(spec.weight_decay) && spec.weight_decay >= 0, "weight_decay", spec.weight_decay,
         "0 or more");
  expect(spec, spec.beta1 >= 0 && spec.beta1 < 1, "beta1", spec.beta1, "0 <= beta1 < 1");
  expect(spec, spec.beta2 >= 0 && spec.beta2 < 1, "beta2", spec.beta2, "0 <= beta2 < 1");
  expect(spec, std::isfinite(spec.eps) && spec.eps >= 0, "eps", spec.eps, "0 or more");
  if (parameters.empty()) {
    throw std::invalid_argument("optimizer " + spec.name + ": the net has no parameters to learn");
  }
  const auto& [first_name, first] = *parameters.begin();
  for (const auto& [name, parameter] : parameters) {  // one fused call takes one type on one device
    if (parameter.scalar_type() != first.scalar_type() || parameter.device() != first.device()) {
      throw std::invalid_argument(c10::str("optimizer ", spec.name, ": parameter ", name, " is ",
                                           parameter.scalar_type(), " on ", parameter.device(), ", but ", first_name,
                                           " is ", first.scalar_type(), " on ", first.device(),
                                           "; expected one type on one device"));
    }
  }
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec, const NamedTensors& parameters) {
  if (spec.name != "sgd" && spec.name != "adam" && spec.name != "adamw") {
    throw unknown_name("optimizer", spec.name, optimizer_names());
  }
  check(spec, parameters);
  if (spec.name == "sgd") return std::make_unique<Sgd>(spec, parameters);
  return std::make_unique<Adam>(spec, parameters);
}

std::vector<std::string> optimizer_names() { return {"adam", "adamw", "sgd"}; }

at::Tensor clip_grad_norm(const NamedTensors& parameters, double max_norm) {
  if (!(max_norm > 0)) {
    throw std::invalid_argument("clip: the greatest norm is " + std::to_string(max_norm) + ", expected more than 0");
  }
  const at::NoGradGuard no_grad;
  Tensors gradients;
  for (const auto& [name, parameter] : parameters) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  if (gradients.empty()) return at::zeros({}, parameters.empty() ? at::kFloat : parameters.begin()->second.options());
  const at::Tensor norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients, 2)), 2);
  if (std::isfinite(max_norm)) {
    // As torch.nn.utils.clip_grad_norm_: always multiplies, for asking whether to would wait for the device.
    at::_foreach_mul_(gradients, (max_norm / (norm + 1e-6)).clamp_max(1));
  }
  return norm;
}

}  // namespace flowtrain::nets
