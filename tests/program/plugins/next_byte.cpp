// A net for tests of rows that differ in length: it tells each next byte of a text by the two before it, and gives the
// mean square of its errors over what is no padding.

#include <ATen/ATen.h>
#include <torch/nn/modules/linear.h>

#include "nets/layers/module_net.h"
#include "pipeline/plugin.h"

namespace {

using namespace flowtrain;

class NextByte final : public nets::ModuleNet {
 public:
  NextByte() : NextByte(std::make_shared<torch::nn::LinearImpl>(2, 1)) {}

  nets::NamedTensors forward(const nets::NamedTensors& batch) override {
    const at::Tensor bytes = batch.at("text").to(at::kFloat).div(255), none = at::zeros_like(bytes.narrow(1, 0, 1));
    const at::Tensor before = at::cat({none, bytes}, 1).narrow(1, 0, bytes.size(1)),
                     earlier = at::cat({none, before}, 1).narrow(1, 0, bytes.size(1));
    const at::Tensor errors = layer_->forward(at::stack({before, earlier}, 2)).squeeze(2) - bytes;
    const at::Tensor own = mask_of(batch, bytes.size(1)).to(at::kFloat);
    return {{"loss", (errors.square() * own).sum() / own.sum().clamp_min(1)}};
  }
  bool may_give(const std::string& output) const override { return output == "loss"; }

 private:
  explicit NextByte(std::shared_ptr<torch::nn::LinearImpl> layer) : ModuleNet(layer), layer_(std::move(layer)) {}

  // Returns which positions texts fill: by the segments of packed rows, or by the lengths of others.
  static at::Tensor mask_of(const nets::NamedTensors& batch, std::int64_t positions) {
    if (batch.contains("segment")) return batch.at("segment") > 0;
    const at::Tensor& lengths = batch.at("text_length");
    return at::arange(positions, lengths.options()).unsqueeze(0) < lengths.unsqueeze(1);
  }

  std::shared_ptr<torch::nn::LinearImpl> layer_;
};

void add() {
  nets::NetEntry entry{"next_byte", "tells each next byte of a text", {}, [](const Settings&, const nets::NetInput&) {
                         return std::make_unique<NextByte>();
                       }};
  entry.traits.least_side = 0;
  nets::nets().add(std::move(entry));
}

}  // namespace

FLOWTRAIN_PLUGIN(add)
