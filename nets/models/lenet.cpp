#include "nets/entries.h"

#if FLOWTRAIN_COMPUTES
#include "nets/layers/module.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

/// LeNet-5 (Y. LeCun et al., Proc. IEEE 86(11), 1998) with ReLU, max-pooling and more channels. The first convolution
/// is padded, as the paper's 28 x 28 digits were.
class LeNet final : public Classifier {
 public:
  LeNet(const Settings& settings, const NetInput& input)
      : conv1_(register_module("conv1", torch::nn::Conv2d(torch::nn::Conv2dOptions(input.channels, 32, 5).padding(2)))),
        conv2_(register_module("conv2", torch::nn::Conv2d(torch::nn::Conv2dOptions(32, 64, 5)))),
        fc1_(register_module("fc1", torch::nn::Linear(64 * pooled(input.height) * pooled(input.width), 120))),
        fc2_(register_module("fc2", torch::nn::Linear(120, 84))),
        fc3_(register_module("fc3", torch::nn::Linear(84, input.classes))),
        dropout_(settings.real("dropout")) {}

  at::Tensor forward(const at::Tensor& image) override {
    at::Tensor x = at::max_pool2d(at::relu(conv1_(image)), 2);  // (B, 32, H / 2, W / 2)
    x = at::max_pool2d(at::relu(conv2_(x)), 2);                 // (B, 64, pooled(H), pooled(W))
    x = at::dropout(at::relu(fc1_(x.flatten(1))), dropout_, is_training());
    x = at::dropout(at::relu(fc2_(x)), dropout_, is_training());
    return fc3_(x);
  }

 private:
  /// Returns a side's length after conv1 (keeps it), pool, conv2 (takes 4), pool.
  static std::int64_t pooled(std::int64_t side) { return (side / 2 - 4) / 2; }

  torch::nn::Conv2d conv1_, conv2_;
  torch::nn::Linear fc1_, fc2_, fc3_;
  double dropout_;
};

}  // namespace
#endif

FLOWTRAIN_PARTS(lenet) {
  parts.nets.add({"lenet",
                  "LeNet-5 with ReLU and max-pooling; images of 12 x 12 pixels or more",
                  {{"dropout", Kind::real, 0.0, "share of activations that training drops", 0, 0.999}},
                  FLOWTRAIN_MAKE(make_classifier<LeNet>),
                  {.least_side = 12}});
}

}  // namespace flowtrain::nets
