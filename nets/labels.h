#pragma once
// Whether labels and logits fit each other.

#include <ATen/core/Tensor.h>

namespace flowtrain::nets {

/// Throws Mistake where `label` (B, …) has not the rows of `logits` (B, K, …), or is on the CPU and has a class that
/// there is no logit for. Negative labels are no classes. On another device only shapes are looked at: the rest would
/// wait for it.
void check_labels(const at::Tensor& logits, const at::Tensor& label);

}  // namespace flowtrain::nets
