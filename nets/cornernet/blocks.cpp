#include "nets/cornernet/blocks.h"

namespace flowtrain::nets::cornernet {

using torch::nn::Conv2d;
using torch::nn::Sequential;

namespace {

constexpr std::int64_t pooled_width = 128;  // width of the maps that CornerPoolBlock pools

}  // namespace

Conv2d conv(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride, bool bias,
            std::int64_t groups) {
  return Conv2d(
      torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding((kernel - 1) / 2).bias(bias).groups(groups));
}

Sequential head(std::int64_t kernel, std::int64_t in, std::int64_t middle, std::int64_t out) {
  return Sequential(std::make_shared<Convolution>(in, middle, kernel, 1, /*batch_norm=*/false),
                    conv(middle, out, 1, 1, /*bias=*/true));
}

Sequential merge(std::int64_t in, std::int64_t out, std::int64_t stride) {
  return Sequential(conv(in, out, 1, stride), BatchNorm2d(out));
}

torch::nn::ConvTranspose2d unpool_transpose(std::int64_t width) {
  return torch::nn::ConvTranspose2d(torch::nn::ConvTranspose2dOptions(width, width, 4).stride(2).padding(1));
}

at::Tensor unpool_nearest(const at::Tensor& x) {
  return at::upsample_nearest2d(x, std::vector<std::int64_t>{x.size(2) * 2, x.size(3) * 2});
}

Convolution::Convolution(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride, bool batch_norm)
    : conv_(register_module("conv", conv(in, out, kernel, stride, /*bias=*/!batch_norm))) {
  if (batch_norm) bn_ = register_module("bn", BatchNorm2d(out));
}

at::Tensor Convolution::forward(const at::Tensor& x) {
  at::Tensor y = conv_(x);
  if (bn_) y = bn_(y);
  return y.relu_();
}

Residual::Residual(std::int64_t in, std::int64_t out, std::int64_t stride, const char* skip_name)
    : conv1_(register_module("conv1", conv(in, out, 3, stride))),
      bn1_(register_module("bn1", BatchNorm2d(out))),
      conv2_(register_module("conv2", conv(out, out, 3))),
      bn2_(register_module("bn2", BatchNorm2d(out))),
      skip_(in == out && stride == 1 ? nullptr : merge(in, out, stride)) {
  if (skip_) register_module(skip_name, skip_);
}

at::Tensor Residual::forward(const at::Tensor& x) {
  at::Tensor y = bn1_(conv1_(x)).relu_();
  y = bn2_(conv2_(y));
  y += skip_ ? skip_->forward(x) : x;
  return y.relu_();
}

Fire::Fire(std::int64_t in, std::int64_t out, std::int64_t stride)
    : conv1_(register_module("conv1", conv(in, out / 2, 1))),
      bn1_(register_module("bn1", BatchNorm2d(out / 2))),
      conv_1x1_(register_module("conv_1x1", conv(out / 2, out / 2, 1, stride))),
      conv_3x3_(register_module("conv_3x3", conv(out / 2, out / 2, 3, stride, /*bias=*/false, /*groups=*/out / 2))),
      bn2_(register_module("bn2", BatchNorm2d(out))),
      adds_x_(in == out && stride == 1) {}

at::Tensor Fire::forward(const at::Tensor& x) {
  const at::Tensor squeezed = bn1_(conv1_(x));
  at::Tensor y = bn2_(at::cat({conv_1x1_(squeezed), conv_3x3_(squeezed)}, 1));
  if (adds_x_) y += x;
  return y.relu_();
}

CornerPoolBlock::CornerPoolBlock(std::int64_t width, Corner corner)
    : corner_(corner),
      p1_conv1_(register_module("p1_conv1", std::make_shared<Convolution>(width, pooled_width, 3))),
      p2_conv1_(register_module("p2_conv1", std::make_shared<Convolution>(width, pooled_width, 3))),
      p_conv1_(register_module("p_conv1", conv(pooled_width, width, 3))),
      p_bn1_(register_module("p_bn1", BatchNorm2d(width))),
      conv1_(register_module("conv1", conv(width, width, 1))),
      bn1_(register_module("bn1", BatchNorm2d(width))),
      conv2_(register_module("conv2", std::make_shared<Convolution>(width, width, 3))) {}

at::Tensor CornerPoolBlock::forward(const at::Tensor& x) {
  const bool top_left = corner_ == Corner::top_left;
  at::Tensor pooled = corner_pool(p1_conv1_->forward(x), top_left ? CornerPool::top : CornerPool::bottom);
  pooled += corner_pool(p2_conv1_->forward(x), top_left ? CornerPool::left : CornerPool::right);
  at::Tensor y = p_bn1_(p_conv1_(pooled));
  y += bn1_(conv1_(x));
  return conv2_->forward(y.relu_());
}

}  // namespace flowtrain::nets::cornernet
