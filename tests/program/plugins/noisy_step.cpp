// A training step for tests that draws wherever it can: noise on pictures and dropout, also where it is measured.

#include <torch/types.h>

#include "nets/net.h"
#include "nets/steps/step.h"
#include "pipeline/plugin.h"

namespace {

using namespace flowtrain;

class Noisy final : public nets::Step {
 public:
  explicit Noisy(nets::Net& net) : net_(net) {}

  std::vector<std::string> losses() const override { return {"loss"}; }
  std::vector<std::string> scalars(const std::vector<std::string>&) const override { return {}; }
  nets::NamedTensors operator()(const nets::NamedTensors& batch, const std::vector<std::string>&) override {
    return {{"loss", evaluate(batch).loss}};
  }

  Evaluated evaluate(const nets::NamedTensors& batch) override {
    nets::NamedTensors noisy = batch;
    const at::Tensor& image = batch.at("image");
    noisy.set("image", at::dropout(image + at::randn_like(image) * at::rand({1}).item<double>(), 0.2, true));
    nets::NamedTensors outputs = net_.forward(noisy);
    at::Tensor loss = at::cross_entropy_loss(outputs.at("logits"), batch.at("label"));
    return {std::move(outputs), std::move(loss)};
  }

 private:
  nets::Net& net_;
};

void add() {
  nets::steps().add(
      {"noisy_step", "cross entropy on noisy pictures", {}, [](const Settings&, const nets::StepInput& input) {
         return std::make_unique<Noisy>(input.net);
       }});
}

}  // namespace

FLOWTRAIN_PLUGIN(add)
