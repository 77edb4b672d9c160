// A loss for tests: cross-entropy, times a factor.

#include <ATen/ATen.h>

#include "nets/losses/loss.h"
#include "pipeline/plugin.h"

namespace {

using namespace flowtrain;

class ScaledCrossEntropy final : public nets::Loss {
 public:
  explicit ScaledCrossEntropy(const Settings& settings) : factor_(settings.real("factor")) {}

  nets::NamedTensors operator()(const nets::NamedTensors& outputs, const nets::NamedTensors& batch) const override {
    const at::Tensor plain = at::cross_entropy_loss(outputs.at("logits"), batch.at("label"));
    return {{"loss", factor_ == 1 ? plain : plain * factor_}, {"plain", plain}};
  }
  std::vector<std::string> scalars() const override { return {"plain"}; }

 private:
  double factor_;
};

void add() {
  nets::losses().add({"own_loss",
                      "cross-entropy times a factor",
                      {{"factor", Kind::real, 1.0, "the factor", 0, 1e6}},
                      [](const Settings& settings, const nets::LossInput&) {
                        return std::make_unique<ScaledCrossEntropy>(settings);
                      }});
}

}  // namespace

FLOWTRAIN_PLUGIN(add)
