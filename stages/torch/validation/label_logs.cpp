#include "stages/torch/validation/label_logs.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

namespace flowtrain {

at::Tensor known_labels(const at::Tensor& logits, const at::Tensor& labels) {
  return labels.ge(0).logical_and_(labels.lt(logits.size(1)));
}

// ATen's logsumexp copies its input, too.
at::Tensor log_sums(const at::Tensor& logits) {
  constexpr std::int64_t most_at_once = 1 << 24;
  const std::int64_t of_row = std::max<std::int64_t>(logits.numel() / std::max<std::int64_t>(logits.size(0), 1), 1);
  std::vector<at::Tensor> sums;
  for (const at::Tensor& rows : logits.split(std::max<std::int64_t>(most_at_once / of_row, 1)))
    sums.push_back(rows.to(at::kFloat).logsumexp(1));
  return at::cat(sums);
}

at::Tensor label_logs(const at::Tensor& logits, const at::Tensor& labels, const at::Tensor& sums) {
  const at::Tensor places = labels.to(at::kLong).clamp(0, logits.size(1) - 1).unsqueeze(1);
  return logits.gather(1, places).squeeze(1).to(at::kFloat) - sums;
}

}  // namespace flowtrain
