#include "stages/torch/unread_steps.h"

#include <ATen/ATen.h>

#include <utility>

namespace flowtrain {

void UnreadSteps::add(std::uint64_t iteration, const at::Tensor& loss, const at::Tensor& norm,
                      const at::Tensor& overflow) {
  const auto whole = loss.options().dtype(at::kLong);
  if (steps_++ == 0) {
    counts_ = at::zeros({4}, whole);
    figures_ = at::zeros({2}, loss.options());
  }
  const at::Tensor left_out = overflow.defined() ? overflow.reshape({}).gt(0) : at::zeros({}, whole).gt(0);
  const at::Tensor finite = loss.isfinite().logical_and(norm.isfinite().logical_or(left_out));
  const at::Tensor is_first = counts_[0].eq(0).logical_and(finite.logical_not());
  const at::Tensor in_a_row = (counts_[2] + 1) * left_out;
  counts_ = at::stack({at::where(is_first, at::full({}, static_cast<std::int64_t>(iteration), whole), counts_[0]),
                       counts_[1] + left_out, in_a_row, at::maximum(counts_[3], in_a_row)});
  figures_ = at::where(is_first, at::stack({loss, norm}), figures_);
}

Unread UnreadSteps::take() {
  Unread unread;
  if (steps_ == 0) return unread;
  unread.steps = std::exchange(steps_, 0);
  const at::Tensor counts = counts_.to(at::kCPU), figures = figures_.to(at::kCPU);
  const auto* count = counts.const_data_ptr<std::int64_t>();
  unread.nonfinite = static_cast<std::uint64_t>(count[0]);
  unread.overflows = static_cast<std::uint64_t>(count[1]);
  unread.in_a_row = static_cast<std::uint64_t>(count[2]);
  unread.most_in_a_row = static_cast<std::uint64_t>(count[3]);
  unread.loss = figures.const_data_ptr<float>()[0];
  unread.grad_norm = figures.const_data_ptr<float>()[1];
  return unread;
}

}  // namespace flowtrain
