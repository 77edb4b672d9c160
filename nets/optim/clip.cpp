#include "nets/optim/clip.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "nets/optim/precision.h"

namespace flowtrain::nets {
namespace {

using Tensors = std::vector<at::Tensor>;

// A norm in half precision would have three digits, and a count would end at 256.
at::Tensor widened(const at::Tensor& tensor) { return tensor.to(state_type(tensor)); }

at::Tensor norm_of(const Tensors& gradients, double p) {
  if (std::ranges::any_of(gradients, is_half)) {
    Tensors norms;
    for (const at::Tensor& gradient : gradients)
      norms.push_back(at::linalg_vector_norm(gradient, p, {}, /*keepdim=*/false, state_type(gradient)));
    return at::linalg_vector_norm(at::stack(norms), p);
  }
  return at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients, p)), p);
}

at::Tensor clip_norm(const Tensors& gradients, const at::Tensor& norm, double limit) {
  // The factor always multiplies, as in torch.nn.utils.clip_grad_norm_: a test of the norm would wait for the device.
  const at::Tensor factor = limit / (norm + 1e-6);
  at::_foreach_mul_(gradients, factor.clamp_max(1));
  return factor.lt(1).to(norm.scalar_type());
}

at::Tensor clip_value(const Tensors& gradients, double limit) {
  const at::Tensor greatest =
      widened(at::stack(at::_foreach_norm(gradients, std::numeric_limits<double>::infinity())).max());
  at::_foreach_clamp_min_(gradients, -limit);
  at::_foreach_clamp_max_(gradients, limit);
  return greatest.gt(limit).to(greatest.scalar_type());
}

/// Returns the norm of each unit: a row of a matrix, a filter of a convolution, a whole vector.
at::Tensor unit_norm(const at::Tensor& tensor) {
  if (tensor.dim() <= 1) return tensor.norm();
  std::vector<std::int64_t> inner;
  for (std::int64_t dim = 1; dim < tensor.dim(); ++dim) inner.push_back(dim);
  return at::linalg_vector_norm(tensor, 2, inner, /*keepdim=*/true);
}

at::Tensor clip_units(const Tensors& weights, const Tensors& gradients, double limit) {
  constexpr double least_weight = 1e-3, least_gradient = 1e-6;  // the authors' own
  Tensors factors, norms, lows;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    factors.push_back(unit_norm(weights[i].detach()));
    norms.push_back(unit_norm(gradients[i]));
  }
  at::_foreach_clamp_min_(factors, least_weight);
  at::_foreach_mul_(factors, limit);
  at::_foreach_clamp_min_(norms, least_gradient);
  at::_foreach_div_(factors, norms);
  at::_foreach_clamp_max_(factors, 1);
  at::_foreach_mul_(gradients, factors);
  for (auto& factor : factors) lows.push_back(factor.min());
  return at::stack(lows).min().lt(1).to(state_type(factors.front()));
}

}  // namespace

Clipped clip_gradients(const NamedTensors& parameters, const ClipSpec& spec) {
  if (!(spec.limit >= 0))
    throw std::invalid_argument(c10::str("clip: the limit is ", spec.limit, ", expected 0 or more"));
  if (!(spec.p > 0)) throw std::invalid_argument(c10::str("clip: p of the norm is ", spec.p, ", expected more than 0"));
  const at::NoGradGuard no_grad;
  Tensors weights, gradients;
  for (const auto& [name, parameter] : parameters) {
    if (!parameter.grad().defined()) continue;
    weights.push_back(parameter);
    gradients.push_back(parameter.grad());
  }
  const auto options = parameters.empty() ? at::TensorOptions(at::kFloat) : parameters.begin()->second.options();
  if (gradients.empty()) {
    const at::Tensor none = widened(at::zeros({}, options));
    return {none, spec.limit > 0 ? none.clone() : at::Tensor()};
  }

  Clipped clipped{norm_of(gradients, spec.by == ClipBy::norm ? spec.p : 2), {}};
  if (spec.limit == 0) return clipped;
  switch (spec.by) {
    case ClipBy::norm: clipped.cut = clip_norm(gradients, clipped.norm, spec.limit); break;
    case ClipBy::value: clipped.cut = clip_value(gradients, spec.limit); break;
    case ClipBy::adaptive: clipped.cut = clip_units(weights, gradients, spec.limit); break;
  }
  return clipped;
}

}  // namespace flowtrain::nets
