#include "nets/labels.h"

#include <ATen/ATen.h>

#include "sampling/core/mistake.h"

namespace flowtrain::nets {

void check_labels(const at::Tensor& logits, const at::Tensor& label) {
  std::vector<std::int64_t> expected = logits.sizes().vec();
  if (expected.size() > 1) expected.erase(expected.begin() + 1);
  if (logits.dim() < 2 || label.sizes() != at::IntArrayRef(expected)) {
    const bool has_classes_last = logits.dim() > 2 && label.sizes() == logits.sizes().slice(0, logits.dim() - 1);
    throw Mistake(c10::str("logits have shape ", logits.sizes(), " and label has ", label.sizes(),
                           ", expected (B, K, …) and (B, …)"),
                  has_classes_last
                      ? "let the net give its logits with the classes second, as cross_entropy takes them: "
                        "logits.movedim(-1, 1)"
                      : "compare logits and labels of the same rows: the net gives the logits, the sampler the labels");
  }
  if (!label.is_cpu() || label.numel() == 0) return;
  const auto largest = label.max().item<std::int64_t>();
  if (largest >= logits.size(1))
    throw Mistake(c10::str("a label is ", largest, ", but the net gives ", logits.size(1),
                           " logits per row, for the labels 0 to ", logits.size(1) - 1),
                  "make a net with as many logits as the data has classes; labels count from 0");
}

std::pair<at::Tensor, at::Tensor> side_by_side(const at::Tensor& logits, const at::Tensor& label) {
  if (logits.dim() == 3 && !logits.is_contiguous())
    if (const at::Tensor last = logits.transpose(1, 2);
        last.is_contiguous() && label.sizes() == last.sizes().slice(0, 2))
      return {last.flatten(0, 1), label.flatten()};
  return {logits, label};
}

}  // namespace flowtrain::nets
