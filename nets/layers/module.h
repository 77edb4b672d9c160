#pragma once
// What nets are made of. Included by files that make nets only, because it drags torch::nn in.

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

/// A classifier built from torch's modules; registration order and names are those of parameters() and buffers().
class Classifier : public torch::nn::Module {
 public:
  /// image: (B, C, H, W); the result: (B, classes), not normalised.
  virtual at::Tensor forward(const at::Tensor& image) = 0;
};

/// A classifier as a Net: `image` to `logits`.
std::unique_ptr<Net> as_net(std::shared_ptr<Classifier> classifier);

/// What makes a net of the classifier `Module`, whose constructor takes settings and input.
template <class Module>
std::unique_ptr<Net> make_classifier(const Settings& settings, const NetInput& input) {
  return as_net(std::make_shared<Module>(settings, input));
}

/// Lays every 4-D tensor out as NHWC (channels_last) or NCHW, keeping the tensors' identity.
void lay_out(const NamedTensors& tensors, bool channels_last);

}  // namespace flowtrain::nets
