#include "nets/optim/ema.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <stdexcept>

namespace flowtrain::nets {

Ema::Ema(const NamedTensors& parameters, double decay, bool warmup)
    : parameters_(parameters), decay_(decay), warmup_(warmup) {
  if (!(decay > 0 && decay < 1))
    throw std::invalid_argument(c10::str("ema: decay is ", decay, ", expected 0 < decay < 1"));
  for (const auto& [name, parameter] : parameters) {
    weights_.push_back(parameter.detach());
    averages_.push_back(parameter.detach().clone());
  }
}

void Ema::update(std::uint64_t iteration) {
  const at::NoGradGuard no_grad;
  const auto i = static_cast<double>(iteration);
  const double decay = warmup_ ? std::min(decay_, (1 + i) / (10 + i)) : decay_;
  at::_foreach_lerp_(averages_, weights_, 1 - decay);
}

void Ema::swap() {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const at::Tensor kept = weights_[i].clone();
    weights_[i].copy_(averages_[i]);
    averages_[i].copy_(kept);
  }
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
