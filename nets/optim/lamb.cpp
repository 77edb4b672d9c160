#include "nets/entries.h"
#include "nets/optim/key_checks.h"

#if FLOWTRAIN_COMPUTES
#include "nets/optim/fused_optimizer.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

/// Returns the scalars as one f64 vector.
at::Tensor stacked(const Tensors& scalars) { return at::stack(scalars).to(at::kDouble); }

/// LAMB: Y. You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes", ICLR 2020, as in
/// timm.optim.Lamb without its own clipping.
class Lamb final : public FusedOptimizer {
 public:
  Lamb(const Settings& settings, const OptimizerInput& input)
      : FusedOptimizer(settings, settings.reals("betas").at(0), input.groups),
        beta2_(settings.reals("betas").at(1)),
        eps_(settings.real("eps")),
        always_adapt_(settings.boolean("always_adapt")),
        trust_clip_(settings.boolean("trust_clip")),
        step_(add_slot("step", scalar)),
        exp_avg_(add_slot("exp_avg")),
        exp_avg_sq_(add_slot("exp_avg_sq")) {}

 private:
  void update(const FusedStep& step) override {
    unless_skipped(step, [&] {
      Tensors changes = adam_directions(step);
      const bool decays = step.weight_decay > 0;
      if (decays) at::_foreach_add_(changes, step.parameters, step.weight_decay);
      if (decays || always_adapt_) {
        const Tensors ratios = trust_ratios(step.parameters, changes).unbind();
        for (std::size_t i = 0; i < changes.size(); ++i) changes[i].mul_(ratios[i]);
      }
      multiply(changes, step.rate());
      at::_foreach_sub_(step.parameters, changes);
    });
  }

  Tensors adam_directions(const FusedStep& step) const {
    const Tensors &means = step.state[exp_avg_], &squares = step.state[exp_avg_sq_];
    at::_foreach_add_(step.state[step_], 1);
    at::_foreach_lerp_(means, step.gradients, 1 - momentum());
    at::_foreach_mul_(squares, beta2_);
    at::_foreach_addcmul_(squares, step.gradients, step.gradients, 1 - beta2_);
    const at::Tensor steps = stacked(step.state[step_]);
    const Tensors of_mean = (1 - at::pow(momentum(), steps)).unbind(),
                  of_root = (1 - at::pow(beta2_, steps)).sqrt_().unbind();
    const Tensors roots = at::_foreach_sqrt(squares);
    Tensors directions;
    for (std::size_t i = 0; i < roots.size(); ++i) {
      roots[i].div_(of_root[i]).add_(eps_);
      directions.push_back(means[i].clone().div_(of_mean[i]).div_(roots[i]));
    }
    return directions;
  }

  /// Returns a vector of the norm of each parameter divided by that of its change; 1 where either is 0.
  at::Tensor trust_ratios(const Tensors& parameters, const Tensors& changes) const {
    const at::Tensor weights = stacked(at::_foreach_norm(parameters)), steps = stacked(at::_foreach_norm(changes));
    const at::Tensor ratios = at::where((weights > 0).logical_and_(steps > 0), weights / steps, 1.0);
    return trust_clip_ ? ratios.clamp_max(1) : ratios;
  }

  double beta2_, eps_;
  bool always_adapt_, trust_clip_;
  std::size_t step_, exp_avg_, exp_avg_sq_;
};

}  // namespace
#endif

FLOWTRAIN_PARTS(lamb) {
  parts.optimizers.add(
      {"lamb",
       "Adam whose step of each parameter is as long as the parameter's norm times lr",
       {{"betas", Kind::reals, std::vector<double>{0.9, 0.999}, "decay rates of the two moments", 0, 1},
        {"eps", Kind::real, 1e-6, "term added to the denominator", 0, 1e300},
        {"always_adapt", Kind::boolean, false, "scale the steps of parameters without weight decay, too"},
        {"trust_clip", Kind::boolean, false, "never scale a step up"}},
       FLOWTRAIN_MAKE([](const Settings& settings, const OptimizerInput& input) {
         return std::make_unique<Lamb>(settings, input);
       }),
       {.momentum = "betas"},
       [](const Settings& settings) {
         check_betas(settings, "betas");
         if (settings.real("weight_decay") == 0 && !settings.boolean("always_adapt"))
           throw settings.error("name", "lamb without weight decay is adam", ExitCode::usage,
                                "set optim.weight_decay, or optim.always_adapt = true");
       }});
}

}  // namespace flowtrain::nets
