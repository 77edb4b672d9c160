// A training step for tests of groups: labelled pictures are classified, unlabelled ones of another size are to be
// classified with certainty, and texts weigh that.

#include <ATen/ATen.h>

#include "nets/net.h"
#include "nets/steps/step.h"
#include "pipeline/plugin.h"

namespace {

using namespace flowtrain;

class Grouped final : public nets::Step {
 public:
  explicit Grouped(nets::Net& net, bool counts) : net_(net), counts_(counts) {}

  std::vector<std::string> losses() const override { return {"loss"}; }
  std::vector<std::string> scalars(const std::vector<std::string>&) const override { return {"certainty"}; }
  bool counts(const std::string& name) const override { return counts_ && name == "loss"; }

  nets::NamedTensors operator()(const nets::NamedTensors& batch, const std::vector<std::string>&) override {
    const at::Tensor certainty = certainty_of(batch);
    const at::Tensor weight = 0.1 + batch.at("text.tokens").sum(1).to(at::kFloat).mean() * 1e-6;
    nets::NamedTensors all{{"loss", evaluate(batch).loss - weight * certainty}, {"certainty", certainty.detach()}};
    if (counts_) all.set(nets::count_of("loss"), at::scalar_tensor(batch.at("labelled.label").size(0)));
    return all;
  }

  Evaluated evaluate(const nets::NamedTensors& batch) override {
    nets::NamedTensors outputs = net_.forward({{"image", batch.at("labelled.image")}});
    at::Tensor loss = at::cross_entropy_loss(outputs.at("logits"), batch.at("labelled.label"));
    return {std::move(outputs), std::move(loss)};
  }

 private:
  // The pictures are made as small as the labelled ones.
  at::Tensor certainty_of(const nets::NamedTensors& batch) {
    const auto small =
        at::adaptive_avg_pool2d(batch.at("unlabelled.image"), batch.at("labelled.image").sizes().slice(2));
    return net_.forward({{"image", small}}).at("logits").softmax(1).square().sum(1).mean();
  }

  nets::Net& net_;
  bool counts_;
};

void add() {
  nets::steps().add(
      {"grouped_step",
       "cross entropy of labelled pictures, and certainty of unlabelled ones",
       {{"counts", Kind::boolean, false, "the loss is a mean over the labelled pictures, which it counts"}},
       [](const Settings& settings, const nets::StepInput& input) {
         return std::make_unique<Grouped>(input.net, settings.boolean("counts"));
       }});
}

}  // namespace

FLOWTRAIN_PLUGIN(add)
