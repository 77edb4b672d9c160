#include "nets/optim/fused_optimizer.h"

#include <ATen/core/grad_mode.h>

#include "nets/optim/precision.h"

namespace flowtrain::nets {
namespace {

/// The kernels walk parameter, gradient and state by one index, so their memory layouts must agree. Autograd's own
/// gradients agree, except for the strides of dimensions of size 1, which do not matter; an assigned gradient may
/// differ.
at::Tensor laid_out_like(const at::Tensor& parameter, const at::Tensor& gradient) {
  for (std::int64_t dim = 0; dim < parameter.dim(); ++dim)
    if (parameter.size(dim) != 1 && gradient.stride(dim) != parameter.stride(dim))
      return at::empty_like(parameter, gradient.options()).copy_(gradient);
  return gradient;
}

}  // namespace

at::Tensor FusedStep::rate() const {
  if (lr_on_device.defined()) return lr_on_device.to(at::kDouble);
  const auto options = parameters.front().options().dtype(at::kDouble).requires_grad(false);
  // The rate of a captured update is an f32 number on a GPU, so this one is rounded alike.
  return at::full({}, options.device().is_cpu() ? lr : static_cast<double>(static_cast<float>(lr)), options);
}

void unless_skipped(const FusedStep& step, const std::function<void()>& change) {
  if (!step.skip) return change();
  Tensors changed = step.parameters, kept;
  for (const Tensors& slot : step.state)
    for (const at::Tensor& tensor : slot)
      if (tensor.defined()) changed.push_back(tensor);
  for (const at::Tensor& tensor : changed) kept.push_back(tensor.clone());
  change();
  // A factor of zero would not do, because a skipped gradient may be infinite or NaN.
  const at::Tensor skipped = *step.skip > 0;
  for (std::size_t i = 0; i < changed.size(); ++i) changed[i].copy_(at::where(skipped, kept[i], changed[i]));
}

void multiply(const Tensors& tensors, const at::Tensor& factor) {
  for (const at::Tensor& tensor : tensors) tensor.mul_(factor);
}

FusedOptimizer::FusedOptimizer(const Settings& settings, double momentum, const std::vector<ParameterGroup>& groups)
    : lr_(settings.real("lr")), momentum_(momentum) {
  for (const auto& group : groups) {
    groups_.push_back({.of = group});
    for (const auto& [name, parameter] : group.parameters)
      groups_.back().masters.push_back(is_half(parameter) ? parameter.detach().to(at::kFloat) : at::Tensor());
  }
}

void FusedOptimizer::step(const at::Tensor& skip) {
  const at::NoGradGuard no_grad;
  for (const Group& group : groups_) {
    FusedStep step = collect(group);
    if (skip.defined()) step.skip = skip;
    if (step.parameters.empty()) continue;
    update(step);
    for (const auto& [parameter, master] : step.rounded) at::Tensor(parameter).copy_(master);
  }
}

void FusedOptimizer::zero_grad() {
  for (const Group& group : groups_)
    for (const auto& [name, parameter] : group.of.parameters) parameter.mutable_grad().reset();
}

void FusedOptimizer::set_hyper(double lr, double momentum, double decay_factor) {
  lr_ = lr;
  momentum_ = momentum;
  decay_factor_ = decay_factor;
  for (Group& group : groups_)
    if (group.lr_on_device.defined()) group.lr_on_device.fill_(lr_ * group.of.lr_mult);
}

void FusedOptimizer::keep_rate_on_device() {
  for (Group& group : groups_) {
    if (group.of.parameters.empty()) continue;
    const auto options = group.of.parameters.begin()->second.options();
    group.lr_on_device =
        at::full({}, lr_ * group.of.lr_mult,
                 options.dtype(options.device().is_cpu() ? at::kDouble : at::kFloat).requires_grad(false));
  }
}

NamedTensors FusedOptimizer::state() const {
  NamedTensors tensors;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot)
    for (const Group& group : groups_) {
      auto tensor = group.state[slot].begin();
      for (const auto& [name, parameter] : group.of.parameters)
        if (const at::Tensor& each = *tensor++; each.defined()) tensors.add(slots_[slot] + "." + name, each);
    }
  for (const Group& group : groups_) {
    auto master = group.masters.begin();
    for (const auto& [name, parameter] : group.of.parameters)
      if (const at::Tensor& each = *master++; each.defined()) tensors.add("master." + name, each);
  }
  return tensors;
}

std::size_t FusedOptimizer::add_slot(const std::string& name, const MakeState& make) {
  for (Group& group : groups_) {
    Tensors& tensors = group.state.emplace_back();
    for (const auto& [parameter_name, parameter] : group.of.parameters)
      tensors.push_back(make(parameter_name, parameter.detach()));
  }
  slots_.push_back(name);
  return slots_.size() - 1;
}

at::Tensor FusedOptimizer::zeros(const std::string&, const at::Tensor& parameter) {
  return at::zeros_like(parameter, parameter.options().dtype(state_type(parameter)));
}

at::Tensor FusedOptimizer::scalar(const std::string&, const at::Tensor& parameter) {
  return at::zeros({}, parameter.options().dtype(at::kFloat));
}

FusedStep FusedOptimizer::collect(const Group& group) const {
  FusedStep step;
  step.state.resize(slots_.size());
  step.lr = lr_ * group.of.lr_mult;
  step.lr_on_device = group.lr_on_device;
  step.weight_decay = decay_factor_ * group.of.weight_decay;
  std::size_t i = 0;
  for (const auto& [name, parameter] : group.of.parameters) {
    if (parameter.grad().defined()) {
      const at::Tensor& master = group.masters[i];
      if (master.defined()) {
        // A parameter that other code has changed since (a snapshot, a hook) replaces its master value.
        at::Tensor(master).copy_(at::where(master.to(parameter.scalar_type()) == parameter, master, parameter));
        step.rounded.emplace_back(parameter, master);
      }
      step.parameters.push_back(master.defined() ? master : parameter);
      step.gradients.push_back(laid_out_like(parameter, parameter.grad()).to(state_type(parameter)));
      for (std::size_t slot = 0; slot < slots_.size(); ++slot) step.state[slot].push_back(group.state[slot][i]);
    }
    ++i;
  }
  return step;
}

}  // namespace flowtrain::nets
