#pragma once
// The precision in which optimizers compute with parameters in half precision.

#include <ATen/core/Tensor.h>

namespace flowtrain::nets {

/// The type of an optimizer's state for a parameter: f32 where that is bf16 or fp16, in which most updates and most
/// steps of an average are smaller than the rounding, and would be lost.
inline at::ScalarType state_type(const at::Tensor& parameter) {
  return c10::isReducedFloatingType(parameter.scalar_type()) ? at::kFloat : parameter.scalar_type();
}

/// Returns whether the parameter is bf16 or fp16.
inline bool is_half(const at::Tensor& parameter) { return c10::isReducedFloatingType(parameter.scalar_type()); }

}  // namespace flowtrain::nets
