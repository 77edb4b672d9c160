#include "nets/entries.h"
#include "nets/optim/key_checks.h"

#if FLOWTRAIN_COMPUTES
#include <algorithm>
#include <limits>

#include "nets/optim/fused_optimizer.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

/// Updates like torch.optim.SGD with dampening 0. There the first step sets the buffer to the gradient; here the buffer
/// starts at zero, and momentum * 0 + gradient is the same.
class Sgd final : public FusedOptimizer {
 public:
  Sgd(const Settings& settings, const OptimizerInput& input)
      : FusedOptimizer(settings, settings.real("momentum"), input.groups),
        nesterov_(settings.boolean("nesterov")),
        has_buffer_(settings.real("momentum") > 0) {
    if (has_buffer_) add_slot("momentum_buffer");
  }

 private:
  void update(const FusedStep& step) override {
    // The kernels refuse a momentum of 0 together with a buffer. The smallest positive number gives the same result:
    // any buffer vanishes beside the gradient.
    const double kept = has_buffer_ ? std::max(momentum(), std::numeric_limits<double>::min()) : 0;
    const auto with_rate = [&](const auto& lr) {
      at::_fused_sgd_(step.parameters, step.gradients, has_buffer_ ? step.state.front() : Tensors(), step.weight_decay,
                      kept, lr, /*dampening=*/0, nesterov_, /*maximize=*/false,
                      /*is_first_step=*/false, /*grad_scale=*/{}, /*found_inf=*/step.skip);
    };
    step.lr_on_device.defined() ? with_rate(step.lr_on_device) : with_rate(step.lr);
  }

  bool nesterov_, has_buffer_;
};

}  // namespace
#endif

FLOWTRAIN_PARTS(sgd) {
  parts.optimizers.add({"sgd",
                        "stochastic gradient descent, with momentum; weight decay is added to the gradient",
                        {{"momentum", Kind::real, 0.0, "share of the last step that the next one keeps", 0, 1},
                         {"nesterov", Kind::boolean, false, "use Nesterov's momentum; needs momentum > 0"}},
                        FLOWTRAIN_MAKE([](const Settings& settings, const OptimizerInput& input) {
                          return std::make_unique<Sgd>(settings, input);
                        }),
                        {.momentum = "momentum"},
                        [](const Settings& settings) {
                          check_below_one(settings, "momentum");
                          if (settings.boolean("nesterov") && settings.real("momentum") == 0)
                            throw settings.error("nesterov", "needs optim.momentum > 0");
                        }});
}

}  // namespace flowtrain::nets
