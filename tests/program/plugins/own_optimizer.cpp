// An optimizer for tests: X. Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023 (Lion), without weight
// decay.

#include <ATen/ATen.h>
#include <torch/utils.h>

#include "nets/optim/optimizer.h"
#include "pipeline/plugin.h"

namespace {

using namespace flowtrain;

class Lion final : public nets::Optimizer {
 public:
  Lion(const Settings& settings, const std::vector<nets::ParameterGroup>& groups)
      : lr_(settings.real("lr")), momentum_(settings.real("momentum")), beta_(settings.real("beta")) {
    for (auto& group : groups)
      for (const auto& [name, parameter] : group.parameters) {
        parameters_.add(name, parameter);
        means_.add("mean." + name, at::zeros_like(parameter.detach()));
      }
  }

  void step(const at::Tensor&) override {
    const torch::NoGradGuard no_gradients;
    for (const auto& [name, parameter] : parameters_) {
      if (!parameter.grad().defined()) continue;
      at::Tensor mean = means_.at("mean." + name), weights = parameter;
      weights.sub_(mean.mul(momentum_).add_(parameter.grad(), 1 - momentum_).sign_(), lr_);
      mean.mul_(beta_).add_(parameter.grad(), 1 - beta_);
    }
  }
  void zero_grad() override {
    for (const auto& [name, parameter] : parameters_) parameter.mutable_grad().reset();
  }
  void set_hyper(double lr, double momentum, double) override { lr_ = lr, momentum_ = momentum; }
  nets::NamedTensors state() const override { return means_; }

 private:
  double lr_, momentum_, beta_;
  nets::NamedTensors parameters_, means_;
};

void add() {
  nets::optimizers().add({"own_optimizer",
                          "Lion",
                          {{"momentum", Kind::real, 0.9, "share of the mean in a step", 0, 1},
                           {"beta", Kind::real, 0.99, "decay of the mean of gradients", 0, 1}},
                          [](const Settings& settings, const nets::OptimizerInput& input) {
                            return std::make_unique<Lion>(settings, input.groups);
                          },
                          {.momentum = "momentum"}});
}

}  // namespace

FLOWTRAIN_PLUGIN(add)
