#pragma once
// Probabilities of labels, without a copy of all logits: those of language models fill most of the memory.

#include <ATen/core/Tensor.h>

namespace flowtrain {

/// Returns which labels (B, …), integers, are classes of `logits` (B, K, …); the others do not count.
at::Tensor known_labels(const at::Tensor& logits, const at::Tensor& labels);
/// Returns the logarithms f32 (B, …) of the sums of exp(logits) over the classes, computed for some rows at a time.
at::Tensor log_sums(const at::Tensor& logits);
/// Returns the natural logarithms f32 (B, …) of the labels' probabilities by `sums`, which are log_sums(logits); some
/// number for a label that is not known.
at::Tensor label_logs(const at::Tensor& logits, const at::Tensor& labels, const at::Tensor& sums);

}  // namespace flowtrain
