// A training step for tests: the usual one, but it fails on some batches, chosen by what is in them, so that a resumed
// run meets the same.

#include <torch/types.h>

#include <stdexcept>

#include "nets/net.h"
#include "nets/steps/step.h"
#include "pipeline/plugin.h"

namespace {

using namespace flowtrain;

class Flaky final : public nets::Step {
 public:
  Flaky(const Settings& settings, nets::Net& net) : settings_(settings), net_(net) {}

  std::vector<std::string> losses() const override { return {"loss"}; }
  std::vector<std::string> scalars(const std::vector<std::string>&) const override { return {}; }

  nets::NamedTensors operator()(const nets::NamedTensors& batch, const std::vector<std::string>&) override {
    const at::Tensor logits = net_.forward(batch).at("logits");  // first, as it moves running statistics
    fail_on(batch, "train");
    return {{"loss", at::cross_entropy_loss(logits, batch.at("label"))}};
  }

  Evaluated evaluate(const nets::NamedTensors& batch) override {
    nets::NamedTensors outputs = net_.forward(batch);
    fail_on(batch, "val");
    at::Tensor loss = at::cross_entropy_loss(outputs.at("logits"), batch.at("label"));
    return {std::move(outputs), std::move(loss)};
  }

 private:
  void fail_on(const nets::NamedTensors& batch, const char* key) const {
    if (batch.at("label")[0].item<std::int64_t>() >= settings_.integer(key)) return;
    if (settings_.boolean("memory")) at::empty({std::int64_t{1} << 46}, at::kFloat);
    throw std::invalid_argument("as the test wants it");
  }

  const Settings settings_;
  nets::Net& net_;
};

void add() {
  nets::steps().add(
      {"flaky",
       "fails where its keys say",
       {{"train", Kind::integer, std::int64_t{0}, "training batches fail whose first label is below this"},
        {"val", Kind::integer, std::int64_t{0}, "likewise, of validation"},
        {"memory", Kind::boolean, false, "by asking for more of the host's memory than there is"}},
       [](const Settings& settings, const nets::StepInput& input) {
         return std::make_unique<Flaky>(settings, input.net);
       }});
}

}  // namespace

FLOWTRAIN_PLUGIN(add)
