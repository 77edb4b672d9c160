#include "nets/optim/ema.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <stdexcept>

#include "nets/optim/precision.h"

namespace flowtrain::nets {

Ema::Ema(const NamedTensors& parameters, double decay, bool warmup)
    : parameters_(parameters), decay_(decay), warmup_(warmup) {
  if (!(decay > 0 && decay < 1))
    throw std::invalid_argument(c10::str("ema: decay is ", decay, ", expected 0 < decay < 1"));
  for (const auto& [name, parameter] : parameters) {
    weights_.push_back(parameter.detach());
    averages_.push_back(parameter.detach().to(state_type(parameter), /*non_blocking=*/false, /*copy=*/true));
  }
}

void Ema::update(std::uint64_t iteration) {
  const at::NoGradGuard no_grad;
  const auto i = static_cast<double>(iteration);
  const double decay = warmup_ ? std::min(decay_, (1 + i) / (10 + i)) : decay_;
  std::vector<at::Tensor> weights;
  for (std::size_t i = 0; i < weights_.size(); ++i) weights.push_back(weights_[i].to(averages_[i].scalar_type()));
  at::_foreach_lerp_(averages_, weights, 1 - decay);
}

void Ema::swap() {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    if (is_half(weights_[i])) continue;
    const at::Tensor kept = weights_[i].clone();
    weights_[i].copy_(averages_[i]);
    averages_[i].copy_(kept);
  }
  swap_half();
}

// The average would be rounded on its way back, so it stays, and the weights are kept beside it.
void Ema::swap_half() {
  const bool back = !kept_.empty();
  for (std::size_t i = 0, place = 0; i < weights_.size(); ++i) {
    if (!is_half(weights_[i])) continue;
    if (!back) kept_.push_back(weights_[i].clone());
    weights_[i].copy_(back ? kept_[place++] : averages_[i]);
  }
  if (back) kept_.clear();
}

void Ema::restart() {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < weights_.size(); ++i) averages_[i].copy_(weights_[i]);
}

NamedTensors Ema::state() const {
  NamedTensors tensors;
  std::size_t i = 0;
  for (const auto& [name, parameter] : parameters_) tensors.add("ema." + name, averages_[i++]);
  return tensors;
}

}  // namespace flowtrain::nets
