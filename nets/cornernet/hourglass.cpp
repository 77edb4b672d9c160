#include "nets/cornernet/hourglass.h"

namespace flowtrain::nets::cornernet {

using torch::nn::Sequential;

namespace {

/// Adds one block of the plan's kind.
void add_block(Sequential& to, const HourglassPlan& plan, std::int64_t in, std::int64_t out, std::int64_t stride = 1) {
  if (plan.fire) {
    to->push_back(std::make_shared<Fire>(in, out, stride));
  } else {
    to->push_back(std::make_shared<Residual>(in, out, stride));
  }
}

/// Makes `count` blocks, the first of which changes width and size.
Sequential widening(const HourglassPlan& plan, std::int64_t count, std::int64_t in, std::int64_t out,
                    std::int64_t stride = 1) {
  Sequential blocks;
  add_block(blocks, plan, in, out, stride);
  for (std::int64_t i = 1; i < count; ++i) add_block(blocks, plan, out, out);
  return blocks;
}

/// Makes `count` blocks, the last of which changes the width.
Sequential narrowing(const HourglassPlan& plan, std::int64_t count, std::int64_t in, std::int64_t out) {
  Sequential blocks;
  for (std::int64_t i = 1; i < count; ++i) add_block(blocks, plan, in, in);
  add_block(blocks, plan, in, out);
  return blocks;
}

/// Makes the stem, of which each part halves the size.
Sequential stem(const std::vector<std::int64_t>& widths, std::int64_t channels) {
  Sequential parts(std::make_shared<Convolution>(channels, widths.at(0), 7, 2));
  for (std::size_t i = 1; i < widths.size(); ++i) {
    parts->push_back(std::make_shared<Residual>(widths[i - 1], widths[i], 2));
  }
  return parts;
}

}  // namespace

// The modules are made in the order of the reference, which is the order of the random draws.
Hourglass::Hourglass(const HourglassPlan& plan, std::size_t level) {
  const std::int64_t width = plan.widths.at(level), inner_width = plan.widths.at(level + 1);
  const std::int64_t count = plan.blocks.at(level);
  up1_ = register_module("up1", widening(plan, count, width, width));
  low1_ = register_module("low1", widening(plan, count, width, inner_width, 2));
  if (level + 2 < plan.widths.size()) {
    inner_ = register_module("low2", std::make_shared<Hourglass>(plan, level + 1));
  } else {
    innermost_ = register_module("low2", widening(plan, plan.blocks.at(level + 1), inner_width, inner_width));
  }
  low3_ = register_module("low3", narrowing(plan, count, inner_width, width));
  if (plan.fire) up2_ = register_module("up2", unpool_transpose(width));
}

at::Tensor Hourglass::forward(const at::Tensor& x, std::vector<at::Tensor>* merged) {
  const at::Tensor kept = up1_->forward(x);
  at::Tensor low = low1_->forward(x);
  low = low3_->forward(inner_ ? inner_->forward(low, merged) : innermost_->forward(low));
  at::Tensor sum = up2_ ? up2_(low) : unpool_nearest(low);
  sum += kept;
  if (merged) merged->push_back(sum);
  return sum;
}

HourglassStack::HourglassStack(const StackPlan& plan, std::int64_t channels) : pre_(stem(plan.pre, channels)) {
  const std::int64_t width = plan.hourglass.widths.at(0);
  const std::int64_t between = plan.stacks - 1;
  for (std::int64_t i = 0; i < plan.stacks; ++i) hourglasses_.push_back(std::make_shared<Hourglass>(plan.hourglass));
  for (std::int64_t i = 0; i < plan.stacks; ++i) cnvs_.push_back(std::make_shared<Convolution>(width, width, 3));
  for (std::int64_t i = 0; i < between; ++i) inters_.push_back(std::make_shared<Residual>(width, width));
  for (std::int64_t i = 0; i < between; ++i) merges_of_map_.push_back(merge(width, width));
  for (std::int64_t i = 0; i < between; ++i) merges_of_input_.push_back(merge(width, width));

  register_module("pre", pre_);
  register_module("hgs", module_list(hourglasses_));
  register_module("cnvs", module_list(cnvs_));
  register_module("inters", module_list(inters_));
  register_module("inters_", module_list(merges_of_input_));
  register_module("cnvs_", module_list(merges_of_map_));
}

StackFeatures HourglassStack::forward(const at::Tensor& image, bool with_merged) {
  StackFeatures features;
  at::Tensor x = pre_->forward(image);
  for (std::size_t i = 0; i < hourglasses_.size(); ++i) {
    std::vector<at::Tensor> merged;
    const at::Tensor map = cnvs_[i]->forward(hourglasses_[i]->forward(x, with_merged ? &merged : nullptr));
    features.maps.push_back(map);
    if (with_merged) features.merged.push_back(std::move(merged));
    if (i < inters_.size()) {
      x = merges_of_input_[i]->forward(x) + merges_of_map_[i]->forward(map);
      x = inters_[i]->forward(x.relu_());
    }
  }
  return features;
}

}  // namespace flowtrain::nets::cornernet
