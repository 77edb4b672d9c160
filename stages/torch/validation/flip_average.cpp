#include "stages/torch/validation/flip_average.h"

#include <ATen/ATen.h>

#include <stdexcept>
#include <utility>

#include "nets/package/compiled_net.h"
#include "sampling/field_text.h"

namespace flowtrain {

namespace {

class FlipAverage final : public nets::Net, public nets::NetInFront {
 public:
  explicit FlipAverage(std::shared_ptr<nets::Net> net) : net_(std::move(net)) {}

  nets::NamedTensors forward(const nets::NamedTensors& batch) override {
    if (!batch.contains("image") || batch.at("image").dim() != 4)
      throw std::invalid_argument("val.flip mirrors pictures, and the batch has no `image` (B, C, H, W)");
    nets::NamedTensors outputs = net_->forward(batch), mirrored = batch;
    for (const auto& [name, tensor] : batch)
      if (is_image_name(name) && tensor.dim() == 4) mirrored.set(name, tensor.flip(3));
    if (!outputs.contains("logits"))
      throw std::invalid_argument("val.flip averages `logits`, which this net does not give");
    const at::Tensor logits = outputs.at("logits");
    if (logits.dim() != 2 && logits.dim() != 4)
      throw std::invalid_argument("val.flip averages `logits` of pictures (B, K) or of pixels (B, K, H, W)");
    const at::Tensor other = net_->forward(mirrored).at("logits");
    outputs.set("logits", (logits + (logits.dim() == 4 ? other.flip(3) : other)) / 2);
    return outputs;
  }
  bool may_give(const std::string& output) const override { return net_->may_give(output); }
  nets::NamedTensors parameters() const override { return net_->parameters(); }
  nets::NamedTensors buffers() const override { return net_->buffers(); }
  void train(bool on) override { net_->train(on); }
  void freeze(const std::set<std::string>& parameters) override { net_->freeze(parameters); }
  void to(at::Device device, bool channels_last) override { net_->to(device, channels_last); }
  nets::Net& behind() override { return *net_; }
  void span_batch_norm(const nets::SumOverProcesses& sum) override { net_->span_batch_norm(sum); }

 private:
  const std::shared_ptr<nets::Net> net_;
};

}  // namespace

std::unique_ptr<nets::Net> average_over_flips(std::shared_ptr<nets::Net> net) {
  return std::make_unique<FlipAverage>(std::move(net));
}

}  // namespace flowtrain
