#include "nets/entries.h"
#include "nets/optim/key_checks.h"

#if FLOWTRAIN_COMPUTES
#include "nets/optim/fused_optimizer.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

/// Lion: X. Chen et al., "Symbolic Discovery of Optimization Algorithms", NeurIPS 2023, as in timm.optim.Lion.
class Lion final : public FusedOptimizer {
 public:
  Lion(const Settings& settings, const OptimizerInput& input)
      : FusedOptimizer(settings, settings.reals("betas").at(0), input.groups),
        beta2_(settings.reals("betas").at(1)),
        exp_avg_(add_slot("exp_avg")) {}

 private:
  void update(const FusedStep& step) override {
    unless_skipped(step, [&] {
      const at::Tensor rate = step.rate();
      if (step.weight_decay > 0) multiply(step.parameters, 1 - rate * step.weight_decay);
      const Tensors& means = step.state[exp_avg_];
      Tensors changes = at::_foreach_lerp(means, step.gradients, 1 - momentum());
      at::_foreach_sign_(changes);
      multiply(changes, rate);
      at::_foreach_sub_(step.parameters, changes);
      at::_foreach_lerp_(means, step.gradients, 1 - beta2_);
    });
  }

  double beta2_;
  std::size_t exp_avg_;
};

}  // namespace
#endif

FLOWTRAIN_PARTS(lion) {
  parts.optimizers.add({"lion",
                        "the sign of a mean gradient, with decoupled weight decay",
                        {{"betas", Kind::reals, std::vector<double>{0.9, 0.99},
                          "shares of the mean gradient that a step takes, and that the next step keeps", 0, 1}},
                        FLOWTRAIN_MAKE([](const Settings& settings, const OptimizerInput& input) {
                          return std::make_unique<Lion>(settings, input);
                        }),
                        {.momentum = "betas"},
                        [](const Settings& settings) { check_betas(settings, "betas"); }});
}

}  // namespace flowtrain::nets
