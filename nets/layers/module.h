#pragma once
// Nets made of torch's modules. Only files that make nets include it, because it includes torch::nn.

#include <torch/nn/module.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <memory>

#include "nets/entries.h"
#include "nets/layers/module_net.h"

namespace flowtrain::nets {

/// A classifier built from torch's modules; parameters() and buffers() keep their names and the order of registration.
class Classifier : public torch::nn::Module {
 public:
  /// Maps image (B, C, H, W) to (B, classes), not normalised.
  virtual at::Tensor forward(const at::Tensor& image) = 0;
};

/// Wraps a classifier as a Net that maps `image` to `logits`.
std::unique_ptr<Net> as_net(std::shared_ptr<Classifier> classifier);

/// Makes a net of the classifier `Module`, whose constructor takes settings and input.
template <class Module>
std::unique_ptr<Net> make_classifier(const Settings& settings, const NetInput& input) {
  return as_net(std::make_shared<Module>(settings, input));
}

/// Lays every 4-D tensor out as NHWC (channels_last) or NCHW, keeping the tensors' identity.
void lay_out(const NamedTensors& tensors, bool channels_last);

}  // namespace flowtrain::nets
