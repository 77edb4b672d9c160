#pragma once
// Blocks of convolutional nets: they map (B, C, H, W) to (B, C', H', W'). Their parameters have the names of
// CornerNet's reference implementation (princeton-vl/CornerNet-Lite), without a prefix; torchvision names those of
// residual blocks alike. Only nets/ includes this file.

#include <cstdint>
#include <memory>

#include "nets/cornernet/corner_pool.h"
#include "nets/layers/batch_norm.h"
#include "nets/layers/module.h"

namespace flowtrain::nets::cornernet {

/// A module that maps one feature map to another.
class Block : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& x) = 0;
};

/// A convolution that keeps the size at stride 1.
torch::nn::Conv2d conv(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride = 1,
                       bool bias = false, std::int64_t groups = 1);

/// A convolution `conv`, batch norm `bn` and ReLU. Without batch norm the convolution has a bias.
class Convolution final : public Block {
 public:
  Convolution(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride = 1, bool batch_norm = true);
  at::Tensor forward(const at::Tensor& x) override;

 private:
  torch::nn::Conv2d conv_;
  BatchNorm2d bn_ = nullptr;
};

/// A residual block (K. He et al., CVPR 2016): two 3x3 convolutions, and a projection (1x1, batch norm) called
/// `skip_name` if stride or width change.
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

/// The first half of the prediction module (CornerNet, figure 7): the sum of two corner poolings inside a residual
/// block, then a 3x3 convolution. It keeps width and size.
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

/// Makes `0`, a convolution with bias and ReLU, and `1`, a 1x1 one with bias that gives `out` raw values per pixel.
torch::nn::Sequential head(std::int64_t kernel, std::int64_t in, std::int64_t middle, std::int64_t out);

/// Makes `0`, a 1x1 convolution, and `1`, batch norm.
torch::nn::Sequential merge(std::int64_t in, std::int64_t out, std::int64_t stride = 1);

/// Makes a 4x4 transposed convolution with bias, which doubles the size.
torch::nn::ConvTranspose2d unpool_transpose(std::int64_t width);

/// Doubles the size by nearest-neighbour upsampling.
at::Tensor unpool_nearest(const at::Tensor& x);

}  // namespace flowtrain::nets::cornernet
