#include "nets/entries.h"
#include "nets/optim/key_checks.h"

#if FLOWTRAIN_COMPUTES
#include "nets/optim/fused_optimizer.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

/// Adam: D. P. Kingma, J. Ba, ICLR 2015; adamw: I. Loshchilov, F. Hutter, "Decoupled weight decay regularization", ICLR
/// 2019.
class Adam final : public FusedOptimizer {
 public:
  Adam(const Settings& settings, const OptimizerInput& input, bool decoupled)
      : FusedOptimizer(settings, settings.reals("betas").at(0), input.groups),
        beta2_(settings.reals("betas").at(1)),
        eps_(settings.real("eps")),
        decoupled_(decoupled),
        step_(add_slot("step", scalar)),
        exp_avg_(add_slot("exp_avg")),
        exp_avg_sq_(add_slot("exp_avg_sq")) {}

 private:
  void update(const FusedStep& now) override {
    at::_foreach_add_(now.state[step_], 1);
    if (now.skip) at::_foreach_sub_(now.state[step_], Tensors(now.state[step_].size(), *now.skip));
    const auto with_rate = [&](const auto& lr) {
      const auto with = [&](const auto& fused) {
        fused(now.parameters, now.gradients, now.state[exp_avg_], now.state[exp_avg_sq_], /*max_exp_avg_sqs=*/Tensors(),
              now.state[step_], lr, momentum(), beta2_, now.weight_decay, eps_, /*amsgrad=*/false,
              /*maximize=*/false, /*grad_scale=*/std::nullopt, /*found_inf=*/now.skip);
      };
      if (decoupled_)
        with([](auto&&... all) { at::_fused_adamw_(all...); });
      else
        with([](auto&&... all) { at::_fused_adam_(all...); });
    };
    now.lr_on_device.defined() ? with_rate(now.lr_on_device) : with_rate(now.lr);
  }

  double beta2_, eps_;
  bool decoupled_;
  std::size_t step_, exp_avg_, exp_avg_sq_;
};

}  // namespace
#endif

FLOWTRAIN_PARTS(adam) {
  const auto add = [&](const char* name, const char* help, bool decoupled [[maybe_unused]]) {
    parts.optimizers.add(
        {name,
         help,
         {{"betas", Kind::reals, std::vector<double>{0.9, 0.999}, "decay rates of the two moments", 0, 1},
          {"eps", Kind::real, 1e-8, "term added to the denominator", 0, 1e300}},
         FLOWTRAIN_MAKE([decoupled](const Settings& settings, const OptimizerInput& input) {
           return std::make_unique<Adam>(settings, input, decoupled);
         }),
         {.momentum = "betas"},
         [](const Settings& settings) { check_betas(settings, "betas"); }});
  };
  add("adam", "Adam; weight decay is added to the gradient", false);
  add("adamw", "Adam with decoupled weight decay", true);
}

}  // namespace flowtrain::nets
