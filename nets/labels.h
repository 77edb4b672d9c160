#pragma once
// What losses and metrics of labels share.

#include <ATen/ATen.h>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// Throws Mistake where `label` (B, …) has not the rows of `logits` (B, K, …), or is on the CPU and has a class that
/// there is no logit for. Negative labels are no classes. On another device only shapes are looked at: the rest would
/// wait for it.
void check_labels(const at::Tensor& logits, const at::Tensor& label);

/// Of a mixed batch: `label`'s share, the rest being `second_label`'s. Of others 1.
inline double weight_of_label(const NamedTensors& batch) {
  return batch.contains("second_label") ? batch.at("label_weight").item<double>() : 1;
}

/// Calls `compute`, which compares logits (B, K, …) with labels (B, …). On the CPU LibTorch refuses what does not fit,
/// with a line of its own sources, in whose place comes a Mistake; on a GPU a label without a logit would end the
/// process, so where there may be one, with fewer logits than `classes`, they are checked first.
template <class Compute>
at::Tensor compared(const at::Tensor& logits, const at::Tensor& label, std::int64_t classes, Compute compute) try {
  if (!label.is_cpu() && logits.dim() > 1 && logits.size(1) < classes) check_labels(logits, label.cpu());
  return compute();
} catch (const c10::Error&) {
  if (at::isIntegralType(label.scalar_type(), /*includeBool=*/false)) check_labels(logits, label);
  throw;
}

}  // namespace flowtrain::nets
