// A training step that adds to the cross entropy the squared distance between two passes with different dropout. It
// follows X. Liang et al., "R-Drop: Regularized Dropout for Neural Networks", NeurIPS 2021.

#include <torch/types.h>

#include "nets/net.h"
#include "nets/steps/step.h"
#include "pipeline/plugin.h"

namespace {

using namespace flowtrain;

class Distance final : public nets::Step {
 public:
  Distance(const Settings& settings, nets::Net& net) : weight_(settings.real("weight")), net_(net) {}

  std::vector<std::string> losses() const override { return {"loss"}; }
  std::vector<std::string> scalars(const std::vector<std::string>&) const override { return {"distance"}; }

  nets::NamedTensors operator()(const nets::NamedTensors& batch, const std::vector<std::string>&) override {
    const at::Tensor one = net_.forward(batch).at("logits"), other = net_.forward(batch).at("logits");
    const at::Tensor distance = at::mse_loss(one.softmax(1), other.softmax(1));
    return {{"loss", (cross_entropy(one, batch) + cross_entropy(other, batch)) / 2 + weight_ * distance},
            {"distance", distance}};
  }

  Evaluated evaluate(const nets::NamedTensors& batch) override {
    nets::NamedTensors outputs = net_.forward(batch);
    at::Tensor loss = cross_entropy(outputs.at("logits"), batch);
    return {std::move(outputs), std::move(loss)};
  }

 private:
  static at::Tensor cross_entropy(const at::Tensor& logits, const nets::NamedTensors& batch) {
    return at::cross_entropy_loss(logits, batch.at("label"));
  }
  double weight_;
  nets::Net& net_;
};

void add() {
  nets::steps().add({"distance",
                     "adds the distance between two draws of dropout to the cross entropy",
                     {{"weight", Kind::real, 1.0, "weight of the distance", 0, 1e6}},
                     [](const Settings& settings, const nets::StepInput& input) {
                       return std::make_unique<Distance>(settings, input.net);
                     }});
}

}  // namespace

FLOWTRAIN_PLUGIN(add)
