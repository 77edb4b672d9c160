#include <stdexcept>

#include "nets/models/module.h"

namespace flowtrain::nets {
namespace {

/// Linear layers with ReLU and dropout between them. Parameters: layers.<i>.weight, layers.<i>.bias.
class Mlp final : public Classifier {
 public:
  explicit Mlp(const NetSpec& spec) : dropout_(spec.dropout) {
    std::int64_t width = spec.channels * spec.height * spec.width;
    for (const std::int64_t hidden : spec.hidden) {
      if (hidden < 1) {
        throw std::invalid_argument("net mlp: a hidden layer has width " + std::to_string(hidden) +
                                    ", expected 1 or more");
      }
      layers_->push_back(torch::nn::Linear(width, hidden));
      width = hidden;
    }
    layers_->push_back(torch::nn::Linear(width, spec.classes));
    register_module("layers", layers_);
  }

  at::Tensor forward(const at::Tensor& image) override {
    at::Tensor x = image.flatten(1);  // (B, C * H * W)
    for (std::size_t i = 0; i < layers_->size(); ++i) {
      if (i > 0) x = at::dropout(at::relu(x), dropout_, is_training());
      x = layers_[i]->as<torch::nn::Linear>()->forward(x);
    }
    return x;
  }

 private:
  torch::nn::ModuleList layers_;
  double dropout_;
};

}  // namespace

std::shared_ptr<Classifier> make_mlp(const NetSpec& spec) { return std::make_shared<Mlp>(spec); }

}  // namespace flowtrain::nets
