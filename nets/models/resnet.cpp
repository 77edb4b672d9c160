// Residual nets: K. He et al., "Deep residual learning for image recognition", CVPR 2016. Names, shapes and initial
// distributions are those of torchvision's models.resnet, so that its weights load; as there, a bottleneck's stride is
// in its 3x3 convolution (in the paper it is in the first 1x1), which is known as ResNet v1.5.

#include "nets/entries.h"

#if FLOWTRAIN_COMPUTES
#include <array>

#include "nets/cornernet/blocks.h"
#include "nets/layers/module.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

using cornernet::conv;
using cornernet::merge;
using torch::nn::Conv2d;
using torch::nn::Sequential;

/// Two 3x3 convolutions: they map (B, in, H, W) to (B, width, H / stride, W / stride).
struct BasicBlock final : cornernet::Residual {
  static constexpr std::int64_t expansion = 1;
  BasicBlock(std::int64_t in, std::int64_t width, std::int64_t stride) : Residual(in, width, stride, "downsample") {}
};

/// Three convolutions, 1x1 down, 3x3, and 1x1 up: they map (B, in, H, W) to (B, 4 * width, H / stride, W / stride).
class Bottleneck final : public torch::nn::Module {
 public:
  static constexpr std::int64_t expansion = 4;

  Bottleneck(std::int64_t in, std::int64_t width, std::int64_t stride)
      : conv1_(register_module("conv1", conv(in, width, 1))),
        bn1_(register_module("bn1", BatchNorm2d(width))),
        conv2_(register_module("conv2", conv(width, width, 3, stride))),
        bn2_(register_module("bn2", BatchNorm2d(width))),
        conv3_(register_module("conv3", conv(width, width * expansion, 1))),
        bn3_(register_module("bn3", BatchNorm2d(width * expansion))),
        downsample_(in == width * expansion && stride == 1 ? nullptr : merge(in, width * expansion, stride)) {
    if (downsample_) register_module("downsample", downsample_);
  }

  at::Tensor forward(const at::Tensor& x) {
    at::Tensor y = bn1_(conv1_(x)).relu_();
    y = bn2_(conv2_(y)).relu_();
    y = bn3_(conv3_(y));
    y += downsample_ ? downsample_->forward(x) : x;
    return y.relu_();
  }

 private:
  Conv2d conv1_;
  BatchNorm2d bn1_;
  Conv2d conv2_;
  BatchNorm2d bn2_;
  Conv2d conv3_;
  BatchNorm2d bn3_;
  Sequential downsample_;
};

/// Makes the blocks of one resolution; the first changes width and stride. `in` becomes the stage's output width.
template <class Block>
Sequential stage(std::int64_t& in, std::int64_t width, std::int64_t blocks, std::int64_t stride) {
  Sequential blocks_of_stage;
  for (std::int64_t i = 0; i < blocks; ++i) {
    blocks_of_stage->push_back(std::make_shared<Block>(in, width, i == 0 ? stride : 1));
    in = width * Block::expansion;
  }
  return blocks_of_stage;
}

/// The number of blocks of each stage: the paper's table 1.
using Depths = std::array<std::int64_t, 4>;

template <class Block>
class ResNet final : public Classifier {
 public:
  ResNet(const NetInput& input, const Depths& depths)
      : conv1_(register_module("conv1", conv(input.channels, 64, 7, 2))),
        bn1_(register_module("bn1", BatchNorm2d(64))) {
    std::int64_t width = 64;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      layers_[i] =
          register_module("layer" + std::to_string(i + 1), stage<Block>(width, 64 << i, depths[i], i == 0 ? 1 : 2));
    }
    fc_ = register_module("fc", torch::nn::Linear(width, input.classes));
    for (const auto& module : modules(/*include_self=*/false)) {
      if (auto* const conv = module->template as<Conv2d>()) {
        torch::nn::init::kaiming_normal_(conv->weight, 0, torch::kFanOut, torch::kReLU);
      }
    }
  }

  at::Tensor forward(const at::Tensor& image) override {
    at::Tensor x = bn1_(conv1_(image)).relu_();               // (B, 64, H / 2, W / 2)
    x = at::max_pool2d(x, 3, /*stride=*/2, /*padding=*/1);    // (B, 64, H / 4, W / 4)
    for (Sequential& layer : layers_) x = layer->forward(x);  // (B, 512 * expansion, H / 32, W / 32)
    return fc_(at::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }

 private:
  Conv2d conv1_;
  BatchNorm2d bn1_;
  std::array<Sequential, 4> layers_ = {nullptr, nullptr, nullptr, nullptr};
  torch::nn::Linear fc_ = nullptr;
};

template <class Block>
auto make_resnet(const Depths& depths) {
  return [depths](const Settings&, const NetInput& input) {
    return as_net(std::make_shared<ResNet<Block>>(input, depths));
  };
}

}  // namespace
#endif

FLOWTRAIN_PARTS(resnet) {
  const auto help = [](const char* depth) { return std::string("ResNet-") + depth + ", as in torchvision"; };
  parts.nets.add({"resnet18", help("18"), {}, FLOWTRAIN_MAKE(make_resnet<BasicBlock>({2, 2, 2, 2}))});
  parts.nets.add({"resnet34", help("34"), {}, FLOWTRAIN_MAKE(make_resnet<BasicBlock>({3, 4, 6, 3}))});
  parts.nets.add({"resnet50", help("50"), {}, FLOWTRAIN_MAKE(make_resnet<Bottleneck>({3, 4, 6, 3}))});
  parts.nets.add({"resnet101", help("101"), {}, FLOWTRAIN_MAKE(make_resnet<Bottleneck>({3, 4, 23, 3}))});
}

}  // namespace flowtrain::nets
