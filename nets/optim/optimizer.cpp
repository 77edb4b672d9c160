#include "nets/optim/optimizer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include "nets/names.h"

namespace flowtrain::nets {
namespace {

using Tensors = std::vector<at::Tensor>;

/// The kernels walk parameter, gradient and state by one index, so their memory layouts must agree. Autograd sees to it
/// for the gradients that it makes, but for the strides of dimensions of size 1, which lead nowhere; one that was
/// assigned may differ.
at::Tensor laid_out_like(const at::Tensor& parameter, const at::Tensor& gradient) {
  for (std::int64_t dim = 0; dim < parameter.dim(); ++dim)
    if (parameter.size(dim) != 1 && gradient.stride(dim) != parameter.stride(dim))
      return at::empty_like(parameter).copy_(gradient);
  return gradient;
}

/// What one fused call works on: the parameters of a group that have a gradient, and what goes with each.
struct Step {
  Tensors parameters, gradients;
  std::vector<Tensors> state;  ///< by slot
  double lr = 0, weight_decay = 0;
  at::Tensor lr_there = {};  ///< instead of lr, where it is defined
  std::optional<at::Tensor> skip = {};
};

/// What the optimizers share: who takes part in a step, and the state's names.
class FusedOptimizer : public Optimizer {
 public:
  FusedOptimizer(const OptimizerSpec& spec, double momentum, const std::vector<ParameterGroup>& groups)
      : lr_(spec.lr), momentum_(momentum) {
    for (const auto& group : groups) groups_.push_back({.of = group, .state = {}});
  }

  void step(const at::Tensor& skip) final {
    const at::NoGradGuard no_grad;
    for (const Group& group : groups_) {
      Step step = collect(group);
      if (skip.defined()) step.skip = skip;
      if (!step.parameters.empty()) update(step);
    }
  }

  void zero_grad() final {
    for (const Group& group : groups_)
      for (const auto& [name, parameter] : group.of.parameters) parameter.mutable_grad().reset();
  }

  void set_rates(double lr, double momentum, double decay_factor) final {
    lr_ = lr;
    momentum_ = momentum;
    decay_factor_ = decay_factor;
    for (Group& group : groups_)
      if (group.lr_there.defined()) group.lr_there.fill_(lr_ * group.of.lr_factor);
  }

  void keep_rate_on_device() final {
    for (Group& group : groups_) {
      if (group.of.parameters.empty()) continue;
      const auto options = group.of.parameters.begin()->second.options();
      group.lr_there =
          at::full({}, lr_ * group.of.lr_factor,
                   options.dtype(options.device().is_cpu() ? at::kDouble : at::kFloat).requires_grad(false));
    }
  }

  NamedTensors state() const final {
    NamedTensors tensors;
    for (std::size_t slot = 0; slot < slots_.size(); ++slot)
      for (const Group& group : groups_) {
        auto tensor = group.state[slot].begin();
        for (const auto& [name, parameter] : group.of.parameters) tensors.add(slots_[slot] + "." + name, *tensor++);
      }
    return tensors;
  }

 protected:
  /// Adds a kind of state: zeros, shaped like the parameters or one f32 number each. Returns its index.
  std::size_t add_slot(const std::string& name, bool scalar = false) {
    for (Group& group : groups_) {
      Tensors& tensors = group.state.emplace_back();
      for (const auto& [parameter_name, parameter] : group.of.parameters) {
        const at::Tensor like = parameter.detach();
        tensors.push_back(scalar ? at::zeros({}, like.options().dtype(at::kFloat)) : at::zeros_like(like));
      }
    }
    slots_.push_back(name);
    return slots_.size() - 1;
  }

  virtual void update(const Step& step) = 0;
  double momentum() const { return momentum_; }

 private:
  struct Group {
    ParameterGroup of;
    std::vector<Tensors> state;  ///< by slot, a tensor for every parameter
    at::Tensor lr_there = {};    ///< see keep_rate_on_device()
  };

  Step collect(const Group& group) const {
    Step step;
    step.state.resize(slots_.size());
    step.lr = lr_ * group.of.lr_factor;
    step.lr_there = group.lr_there;
    step.weight_decay = decay_factor_ * group.of.weight_decay;
    std::size_t i = 0;
    for (const auto& [name, parameter] : group.of.parameters) {
      if (parameter.grad().defined()) {
        step.parameters.push_back(parameter);
        step.gradients.push_back(laid_out_like(parameter, parameter.grad()));
        for (std::size_t slot = 0; slot < slots_.size(); ++slot) step.state[slot].push_back(group.state[slot][i]);
      }
      ++i;
    }
    return step;
  }

  double lr_, momentum_, decay_factor_ = 1;
  std::vector<Group> groups_;
  std::vector<std::string> slots_;
};

/// Momentum as torch.optim.SGD with dampening 0. There the first step sets the buffer to the gradient; here the buffer
/// starts at zero, and momentum * 0 + gradient is the same.
class Sgd final : public FusedOptimizer {
 public:
  Sgd(const OptimizerSpec& spec, const std::vector<ParameterGroup>& groups)
      : FusedOptimizer(spec, spec.momentum, groups), nesterov_(spec.nesterov), has_buffer_(spec.momentum > 0) {
    if (has_buffer_) add_slot("momentum_buffer");
  }

 private:
  void update(const Step& step) override {
    // The kernels refuse a momentum of 0 together with a buffer. The least there is makes the same of any buffer:
    // nothing beside the gradient.
    const double kept = has_buffer_ ? std::max(momentum(), std::numeric_limits<double>::min()) : 0;
    const auto with_rate = [&](const auto& lr) {
      at::_fused_sgd_(step.parameters, step.gradients, has_buffer_ ? step.state.front() : Tensors(), step.weight_decay,
                      kept, lr, /*dampening=*/0, nesterov_, /*maximize=*/false,
                      /*is_first_step=*/false, /*grad_scale=*/{}, /*found_inf=*/step.skip);
    };
    step.lr_there.defined() ? with_rate(step.lr_there) : with_rate(step.lr);
  }

  bool nesterov_, has_buffer_;
};

/// D. P. Kingma, J. Ba, "Adam", ICLR 2015; adamw: I. Loshchilov, F. Hutter, "Decoupled weight decay regularization",
/// ICLR 2019.
class Adam final : public FusedOptimizer {
 public:
  Adam(const OptimizerSpec& spec, const std::vector<ParameterGroup>& groups)
      : FusedOptimizer(spec, spec.beta1, groups),
        beta2_(spec.beta2),
        eps_(spec.eps),
        decoupled_(spec.name == "adamw"),
        step_(add_slot("step", /*scalar=*/true)),
        exp_avg_(add_slot("exp_avg")),
        exp_avg_sq_(add_slot("exp_avg_sq")) {}

 private:
  void update(const Step& now) override {
    at::_foreach_add_(now.state[step_], 1);
    if (now.skip) at::_foreach_sub_(now.state[step_], Tensors(now.state[step_].size(), *now.skip));
    const auto with_rate = [&](const auto& lr) {
      const auto with = [&](const auto& fused) {
        fused(now.parameters, now.gradients, now.state[exp_avg_], now.state[exp_avg_sq_], /*max_exp_avg_sqs=*/Tensors(),
              now.state[step_], lr, momentum(), beta2_, now.weight_decay, eps_, /*amsgrad=*/false,
              /*maximize=*/false, /*grad_scale=*/std::nullopt, /*found_inf=*/now.skip);
      };
      if (decoupled_)
        with([](auto&&... all) { at::_fused_adamw_(all...); });
      else
        with([](auto&&... all) { at::_fused_adam_(all...); });
    };
    now.lr_there.defined() ? with_rate(now.lr_there) : with_rate(now.lr);
  }

  double beta2_, eps_;
  bool decoupled_;
  std::size_t step_, exp_avg_, exp_avg_sq_;
};

void expect(const OptimizerSpec& spec, bool good, const char* key, double value, const char* expected) {
  if (good) return;
  throw std::invalid_argument(c10::str("optimizer ", spec.name, ": ", key, " is ", value, ", expected ", expected));
}

void check(const OptimizerSpec& spec, const std::vector<ParameterGroup>& groups) {
  expect(spec, std::isfinite(spec.lr) && spec.lr >= 0, "lr", spec.lr, "0 or more");
  expect(spec, spec.momentum >= 0 && spec.momentum < 1, "momentum", spec.momentum, "0 <= momentum < 1");
  expect(spec, !spec.nesterov || spec.momentum > 0, "momentum", spec.momentum, "momentum > 0 where nesterov is on");
  expect(spec, std::isfinite(spec.weight_decay) && spec.weight_decay >= 0, "weight_decay", spec.weight_decay,
         "0 or more");
  expect(spec, spec.beta1 >= 0 && spec.beta1 < 1, "beta1", spec.beta1, "0 <= beta1 < 1");
  expect(spec, spec.beta2 >= 0 && spec.beta2 < 1, "beta2", spec.beta2, "0 <= beta2 < 1");
  expect(spec, std::isfinite(spec.eps) && spec.eps >= 0, "eps", spec.eps, "0 or more");
  NamedTensors parameters;
  for (const ParameterGroup& group : groups) {
    expect(spec, std::isfinite(group.lr_factor) && group.lr_factor >= 0, "lr_factor", group.lr_factor, "0 or more");
    expect(spec, std::isfinite(group.weight_decay) && group.weight_decay >= 0, "weight_decay", group.weight_decay,
           "0 or more");
    for (const auto& [name, parameter] : group.parameters) parameters.add(name, parameter);
  }
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

std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec, const std::vector<ParameterGroup>& groups) {
  if (spec.name != "sgd" && spec.name != "adam" && spec.name != "adamw") {
    throw unknown_name("optimizer", spec.name, optimizer_names());
  }
  check(spec, groups);
  if (spec.name == "sgd") return std::make_unique<Sgd>(spec, groups);
  return std::make_unique<Adam>(spec, groups);
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec, const NamedTensors& parameters) {
  return make_optimizer(spec, std::vector<ParameterGroup>{{parameters, 1, spec.weight_decay}});
}

std::vector<std::string> optimizer_names() { return {"adam", "adamw", "sgd"}; }

}  // namespace flowtrain::nets
