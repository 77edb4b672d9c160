#include "nets/optim/scaler.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <utility>
#include <vector>

namespace flowtrain::nets {

namespace {
constexpr double first_scale = 65536, growth_factor = 2, backoff_factor = 0.5;
constexpr double most_of_half = 32768;  // the largest power of two that half precision holds
constexpr std::int64_t growth_interval = 2000;
}  // namespace

GradScaler::GradScaler(at::Device device)
    : scale_(at::full({}, first_scale, at::TensorOptions(device).dtype(at::kFloat))),
      growth_(at::zeros({}, at::TensorOptions(device).dtype(at::kInt))),
      found_(at::zeros({}, at::TensorOptions(device).dtype(at::kFloat))) {}

// The product is computed in single precision at least. Backward gives the scale itself to a loss in half precision, as
// its gradient, so from the first such loss on half precision can hold the scale.
at::Tensor GradScaler::scaled(const at::Tensor& loss) {
  const bool first = !std::exchange(begun_, true);
  if (loss.scalar_type() == at::kHalf && !std::exchange(half_, true) && first) keep_within_half();
  return loss.to(at::promote_types(loss.scalar_type(), scale_.scalar_type())) * scale_;
}

at::Tensor GradScaler::unscale(const NamedTensors& parameters) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  for (const auto& [name, parameter] : parameters)
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  found_.zero_();
  if (!gradients.empty()) at::_amp_foreach_non_finite_check_and_unscale_(gradients, found_, scale_.reciprocal());
  return found_;
}

void GradScaler::update() {
  const at::NoGradGuard no_grad;
  at::_amp_update_scale_(scale_, growth_, found_, growth_factor, backoff_factor, growth_interval);
  if (half_) keep_within_half();
}

void GradScaler::keep_within_half() {
  const at::NoGradGuard no_grad;
  scale_.clamp_max_(most_of_half);
}

}  // namespace flowtrain::nets
