#pragma once
// What convolutional nets are built of: (B, C, H, W) to (B, C', H', W'). Parameters have the names of CornerNet's
// reference implementation (princeton-vl/CornerNet-Lite), without a prefix; of residual blocks these are also
// torchvision's. Within nets/.

#include <cstdint>
#include <memory>

#include "nets/cornernet/corner_pool.h"
#include "nets/layers/batch_norm.h"
#include "nets/layers/module.h"

namespace flowtrain::nets::cornernet {

/// From one map to another.
class Block : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& x) = 0;
};

/// A convolution that keeps the size at stride 1.
torch::nn::Conv2d conv(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride = 1,
                       bool bias = false, std::int64_t groups = 1);

/// Convolution, batch norm, ReLU: `conv`, `bn`. Without batch norm the convolution has a bias.
class Convolution final : public Block {
 public:
  Convolution(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride = 1, bool batch_norm = true);
  at::Tensor forward(const at::Tensor& x) override;

 private:
  torch::nn::Conv2d conv_;
  BatchNorm2d bn_ = nullptr;
};

/// K. He et al., CVPR 2016: two 3x3 convolutions, and a projection (1x1, batch norm) called `skip_name` where stride or
/// width change.
class Residual : public Block {
 public:
  Residual(std::int64_t in, std::int64_t out, std::int64_t stride = 1, const char* skip_name = "skip");
  at::Tensor forward(const at::Tensor& x) override;

 private:
  torch::nn::Conv2d conv1_;
  BatchNorm2d bn1_;
  torch::nn::Conv2d conv2_;
  BatchNorm2d bn2_;
  torch::nn::Sequential skip_;
};

/// SqueezeNet's fire module (F. Iandola et al., 2016) as CornerNet-Squeeze has it: half the width after a 1x1
/// convolution, then 1x1 and depthwise 3x3 side by side; x is added where the shape stays.
class Fire final : public Block {
 public:
  Fire(std::int64_t in, std::int64_t out, std::int64_t stride = 1);
  at::Tensor forward(const at::Tensor& x) override;

 private:
  torch::nn::Conv2d conv1_;
  BatchNorm2d bn1_;
  torch::nn::Conv2d conv_1x1_, conv_3x3_;
  BatchNorm2d bn2_;
  bool adds_x_;
};

enum class Corner { top_left, bottom_right };

/// The prediction module's first half (CornerNet, figure 7): the sum of two corner poolings inside a residual block,
/// then a 3x3 convolution. Keeps width and size.
class CornerPoolBlock final : public Block {
 public:
  CornerPoolBlock(std::int64_t width, Corner corner);
  at::Tensor forward(const at::Tensor& x) override;

 private:
  Corner corner_;
  std::shared_ptr<Convolution> p1_conv1_, p2_conv1_;
  torch::nn::Conv2d p_conv1_;
  BatchNorm2d p_bn1_;
  torch::nn::Conv2d conv1_;
  BatchNorm2d bn1_;
  std::shared_ptr<Convolution> conv2_;
};

/// `0`: a convolution with bias, and ReLU; `1`: 1x1 with bias, to `out` raw values per pixel.
torch::nn::Sequential head(std::int64_t kernel, std::int64_t in, std::int64_t middle, std::int64_t out);

/// `0`: 1x1 convolution; `1`: batch norm.
torch::nn::Sequential merge(std::int64_t in, std::int64_t out, std::int64_t stride = 1);

/// Twice the size by a 4x4 transposed convolution with bias.
torch::nn::ConvTranspose2d unpool_transpose(std::int64_t width);

/// Twice the size, every value four times.
at::Tensor unpool_nearest(const at::Tensor& x);

}  // namespace flowtrain::nets::cornernet
