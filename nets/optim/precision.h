#pragma once
// The precision in which optimizers compute with parameters in half precision.

#include <ATen/core/Tensor.h>

namespace flowtrain::nets {

/// Returns the type of an optimizer's state for a parameter: f32 for bf16 and fp16, in which most updates and most
/// steps of an average would be lost to rounding.
inline at::ScalarType state_type(const at::Tensor& parameter) {
  return c10::isReducedFloatingType(parameter.scalar_type()) ? at::kFloat : parameter.scalar_type();
}

/// Returns whether the parameter is bf16 or fp16.
inline bool is_half(const at::Tensor& parameter) { return c10::isReducedFloatingType(parameter.scalar_type()); }

}  // namespace flowtrain::nets
