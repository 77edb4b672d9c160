// A net that no CUDA graph can hold: it draws numbers (dropout), and waits for the device in each forward pass.

#include <ATen/ATen.h>
#include <torch/nn/modules/linear.h>

#include "nets/layers/module_net.h"
#include "pipeline/plugin.h"

namespace {

using namespace flowtrain;

class Waits final : public nets::ModuleNet {
 public:
  explicit Waits(const nets::NetInput& input)
      : Waits(std::make_shared<torch::nn::LinearImpl>(input.channels * input.height * input.width, input.classes)) {}

  nets::NamedTensors forward(const nets::NamedTensors& batch) override {
    const at::Tensor x = at::dropout(batch.at("image").flatten(1), 0.3, layer_->is_training());
    const double level = x.detach().abs().mean().item<double>();
    return {{"logits", layer_->forward(level > 0 ? x / level : x)}};
  }
  bool may_give(const std::string& output) const override { return output == "logits"; }

 private:
  explicit Waits(std::shared_ptr<torch::nn::LinearImpl> layer) : ModuleNet(layer), layer_(std::move(layer)) {}

  std::shared_ptr<torch::nn::LinearImpl> layer_;
};

void add() {
  nets::nets().add({"waits",
                    "one linear layer with dropout, which waits for the device",
                    {},
                    [](const Settings&, const nets::NetInput& input) { return std::make_unique<Waits>(input); }});
}

}  // namespace

FLOWTRAIN_PLUGIN(add)
