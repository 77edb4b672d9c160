#pragma once
// Helpers for losses and metrics of labels.

#include <ATen/ATen.h>

#include <utility>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// Throws Mistake if `label` (B, …) has not the rows of `logits` (B, K, …), or is on the CPU and has a class without a
/// logit. Negative labels are no classes. On another device only shapes are checked, because reading values waits for
/// it.
void check_labels(const at::Tensor& logits, const at::Tensor& label);

/// Returns logits (B, K, L) that are a view of contiguous (B, L, K), and their labels (B, L), as (B * L, K) and (B *
/// L): the logits of a label then lie side by side, and nothing is copied. Returns others as they are.
std::pair<at::Tensor, at::Tensor> side_by_side(const at::Tensor& logits, const at::Tensor& label);

/// Returns the share of `label` in a mixed batch, whose rest belongs to `second_label`; 1 for other batches.
inline double weight_of_label(const NamedTensors& batch) {
  return batch.contains("second_label") ? batch.at("label_weight").item<double>() : 1;
}

/// Calls `compute`, which compares logits (B, K, …) with labels (B, …). On the CPU a Mistake replaces the error of
/// LibTorch, which names a line of its own sources. On a GPU a label without a logit would end the process, so the
/// labels are checked first if there are fewer logits than `classes`.
template <class Compute>
at::Tensor compared(const at::Tensor& logits, const at::Tensor& label, std::int64_t classes, Compute compute) try {
  if (!label.is_cpu() && logits.dim() > 1 && logits.size(1) < classes) check_labels(logits, label.cpu());
  return compute();
} catch (const c10::Error&) {
  if (at::isIntegralType(label.scalar_type(), /*includeBool=*/false)) check_labels(logits, label);
  throw;
}

}  // namespace flowtrain::nets
