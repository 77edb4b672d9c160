#include "nets/optim/gradient_sum.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "nets/optim/precision.h"

namespace flowtrain::nets {

GradientSum::GradientSum(const NamedTensors& parameters, double iterations)
    : parameters_(parameters), iterations_(iterations) {
  for (const auto& [name, parameter] : parameters)
    sums_.push_back(at::zeros_like(parameter.detach(), parameter.options().dtype(state_type(parameter))));
}

void GradientSum::add(const at::Tensor& skip) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> sums, gradients;
  auto sum = sums_.begin();
  for (const auto& [name, parameter] : parameters_) {
    if (const at::Tensor& gradient = parameter.grad(); gradient.defined()) {
      sums.push_back(*sum);
      // A product with zero would not do, because a skipped gradient may be infinite or NaN.
      gradients.push_back((skip.defined() ? gradient.masked_fill(skip > 0, 0) : gradient).to(sum->scalar_type()));
    }
    ++sum;
  }
  if (!sums.empty()) at::_foreach_add_(sums, gradients);
}

void GradientSum::hand_out() {
  const at::NoGradGuard no_grad;
  auto sum = sums_.begin();
  for (const auto& [name, parameter] : parameters_) {
    if (parameter.grad().defined()) {
      parameter.mutable_grad() = *sum / iterations_;
      sum->zero_();
    }
    ++sum;
  }
}

NamedTensors GradientSum::state() const {
  NamedTensors tensors;
  auto sum = sums_.begin();
  for (const auto& [name, parameter] : parameters_) tensors.add("gradient_sum." + name, *sum++);
  return tensors;
}

}  // namespace flowtrain::nets
