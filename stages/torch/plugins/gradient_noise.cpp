// A hook that adds normal noise of variance eta / (1 + iteration)^0.55 to gradients, as in A. Neelakantan et al.,
// "Adding Gradient Noise Improves Learning for Very Deep Networks", 2015.

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>

#include "nets/tensors.h"
#include "pipeline/plugin.h"
#include "stages/hooks/hook.h"

namespace {

using namespace flowtrain;

class GradientNoise final : public Hook {
 public:
  explicit GradientNoise(const Settings& settings) : eta_(settings.real("eta")) {}

  std::vector<HookEvent> events() const override { return {HookEvent::backward, HookEvent::iteration_end}; }

  void on_event(HookEvent event, HookContext& context) override {
    if (event == HookEvent::iteration_end) return context.log("noise", noise_);
    const torch::NoGradGuard no_gradients;
    noise_ = std::sqrt(eta_ / std::pow(1.0 + static_cast<double>(context.iteration), 0.55));
    // The engine seeds torch's generator for each iteration, so that a resumed run draws the same.
    for (const auto& [name, parameter] : *context.parameters)
      if (parameter.grad().defined()) parameter.mutable_grad().add_(torch::randn_like(parameter) * noise_);
    ++used_;
  }

  std::string state() const override { return std::to_string(used_); }
  void restore(const std::string& state) override { used_ = std::stoull(state); }

 private:
  double eta_, noise_ = 0;
  std::uint64_t used_ = 0;
};

void add() {
  hooks().add({"gradient_noise",
               "adds normal noise to all gradients, less with every iteration",
               {{"eta", Kind::real, 0.01, "variance of the noise at the start", 0, 1e6}},
               [](const Settings& settings, const HookInput&) { return std::make_unique<GradientNoise>(settings); }});
}

}  // namespace

FLOWTRAIN_PLUGIN(add)
