#include "nets/entries.h"

#if FLOWTRAIN_COMPUTES
#include "nets/layers/module.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

/// Linear layers with ReLU and dropout between them. Parameters: layers.<i>.weight, layers.<i>.bias.
class Mlp final : public Classifier {
 public:
  Mlp(const Settings& settings, const NetInput& input) : dropout_(settings.real("dropout")) {
    std::int64_t width = input.channels * input.height * input.width;
    for (const std::int64_t hidden : settings.integers("hidden")) {
      layers_->push_back(torch::nn::Linear(width, hidden));
      width = hidden;
    }
    layers_->push_back(torch::nn::Linear(width, input.classes));
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
#endif

FLOWTRAIN_PARTS(mlp) {
  parts.nets.add(
      {"mlp",
       "linear layers with ReLU between them; images of any size",
       {{"hidden", Kind::integers, std::vector<std::int64_t>{256, 128}, "widths of the hidden layers", 1, 1 << 24},
        {"dropout", Kind::real, 0.0, "share of activations that training drops", 0, 0.999}},
       FLOWTRAIN_MAKE(make_classifier<Mlp>)});
}

}  // namespace flowtrain::nets
