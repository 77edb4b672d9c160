#pragma once
// Behind the door of net.h: what the nets are made of. Included by nets/ only, because it drags torch::nn in.

#include <torch/nn/module.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nets/models/net.h"

namespace flowtrain::nets {

/// A classifier built from torch's modules; registration order and names are those of parameters() and buffers().
class Classifier : public torch::nn::Module {
 public:
  /// image: (B, C, H, W); the result: (B, classes), not normalised.
  virtual at::Tensor forward(const at::Tensor& image) = 0;
};

/// Stages of a ResNet: how many blocks each has, and of which kind.
struct ResNetPlan {
  bool bottleneck = false;
  std::array<std::int64_t, 4> blocks = {};
};

std::shared_ptr<Classifier> make_mlp(const NetSpec& spec);
std::shared_ptr<Classifier> make_lenet(const NetSpec& spec);
std::shared_ptr<Classifier> make_resnet(const NetSpec& spec, const ResNetPlan& plan);
std::unique_ptr<Net> make_script_net(const std::string& path, const std::vector<std::string>& inputs);

/// Lays every 4-D tensor out as NHWC (channels_last) or NCHW, keeping the tensors' identity.
void lay_out(const NamedTensors& tensors, bool channels_last);

}  // namespace flowtrain::nets
