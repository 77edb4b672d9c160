#pragma once
// Parameters in half precision: how precisely optimizers compute with them.

#include <ATen/core/Tensor.h>

namespace flowtrain::nets {

/// The type of an optimizer's state for a parameter: f32 where that is bf16 or fp16. There most updates and most steps
/// of an average are smaller than the parameter's rounding, and would be lost.
inline at::ScalarType state_type(const at::Tensor& parameter) {
  return c10::isReducedFloatingType(parameter.scalar_type()) ? at::kFloat : parameter.scalar_type();
}

/// Whether state_type() is wider than the parameter's own.
inline bool is_half(const at::Tensor& parameter) { return c10::isReducedFloatingType(parameter.scalar_type()); }

}  // namespace flowtrain::nets
