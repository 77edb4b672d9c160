#include "stages/torch/learner/training_step.h"

#include <ATen/record_function.h>

#include "nets/make.h"
#include "nets/mistake.h"
#include "sampling/core/settings.h"

namespace flowtrain {

namespace {

// Its mistakes are those of the key that names it.
class NamedStep final : public nets::Step {
 public:
  NamedStep(const Settings& settings, std::unique_ptr<nets::Step> step) : settings_(settings), step_(std::move(step)) {}

  std::vector<std::string> losses() const override { return step_->losses(); }
  std::vector<std::string> scalars(const std::vector<std::string>& wanted) const override {
    return step_->scalars(wanted);
  }
  nets::NamedTensors operator()(const nets::NamedTensors& batch, const std::vector<std::string>& wanted) override {
    RECORD_USER_SCOPE("net");
    return nets::rethrow_at_key(settings_, "name", [&] { return (*step_)(batch, wanted); });
  }
  Evaluated evaluate(const nets::NamedTensors& batch) override {
    return nets::rethrow_at_key(settings_, "name", [&] { return step_->evaluate(batch); });
  }

 private:
  const Settings settings_;
  std::unique_ptr<nets::Step> step_;
};

Settings supervised() {
  return {"step", {{"name", Kind::text, std::string("supervised"), "name of the training step"}}};
}

}  // namespace

std::unique_ptr<nets::Step> make_training_step(const LearnerSpec& spec, nets::Net& net) {
  const Settings settings = spec.step ? *spec.step : supervised();
  auto step = nets::rethrow_at_key(settings, "name", [&] {
    return nets::make_step(settings, {net, spec.net, spec.loss, spec.classes});
  });
  if (nets::steps().at(settings.text("name")).traits.tells_apart) return step;
  return std::make_unique<NamedStep>(settings, std::move(step));
}

}  // namespace flowtrain
