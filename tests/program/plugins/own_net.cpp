// A net for tests: one linear layer over the picture's values. It tells how bright pictures are,
// which pass it is, and what share dropout would keep.

#include <ATen/ATen.h>
#include <torch/nn/modules/linear.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "nets/layers/module_net.h"
#include "nets/reports.h"
#include "pipeline/plugin.h"

namespace {

using namespace flowtrain;

class OneLayer final : public nets::ModuleNet, public nets::Reports {
 public:
  OneLayer(const Settings& settings, const nets::NetInput& input)
      : OneLayer(settings,
                 std::make_shared<torch::nn::LinearImpl>(input.channels * input.height * input.width, input.classes)) {}

  nets::NamedTensors forward(const nets::NamedTensors& batch) override {
    const at::Tensor& image = batch.at("image");
    if (layer_->is_training()) ++passes_;
    if (!note_.empty()) std::ofstream{note_};
    std::this_thread::sleep_for(slow_);
    return {{"logits", layer_->forward(image.flatten(1)) * scale_},
            {"brightness", image.mean()},
            {"passes", wide_ ? at::ones({2}) : at::scalar_tensor(passes_)},
            {"kept", at::dropout(at::ones({4096}), 0.5, true).mean()}};
  }
  std::vector<std::string> scalars() const override { return {"brightness", "passes", "kept"}; }
  bool may_give(const std::string& output) const override { return output == "logits"; }

 private:
  OneLayer(const Settings& settings, std::shared_ptr<torch::nn::LinearImpl> layer)
      : ModuleNet(layer),
        scale_(settings.real("scale")),
        wide_(settings.boolean("wide")),
        note_(settings.text("note")),
        slow_(settings.integer("slow_ms")),
        layer_(std::move(layer)) {
    if (settings.boolean("spare")) layer_->register_parameter("spare", at::ones({3}));
  }

  double scale_;
  bool wide_;
  std::string note_;
  std::chrono::milliseconds slow_;
  std::int64_t passes_ = 0;  // in training
  std::shared_ptr<torch::nn::LinearImpl> layer_;
};

void add() {
  nets::nets().add({"own_net",
                    "one linear layer",
                    {{"scale", Kind::real, 1.0, "what the logits are multiplied by", 0, 1e6},
                     {"wide", Kind::boolean, false, "its metrics are no scalars"},
                     {"spare", Kind::boolean, false, "has a parameter that takes no part"},
                     {"note", Kind::text, std::string(), "file that is there once the net computes"},
                     {"slow_ms", Kind::integer, std::int64_t{0}, "how long each forward takes in addition"}},
                    [](const Settings& settings, const nets::NetInput& input) {
                      return std::make_unique<OneLayer>(settings, input);
                    }});
}

}  // namespace

FLOWTRAIN_PLUGIN(add)
