#include "nets/entries.h"
#include "nets/optim/key_checks.h"

#if FLOWTRAIN_COMPUTES
#include "nets/optim/fused_optimizer.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

/// RMSprop: T. Tieleman, G. Hinton, "Neural Networks for Machine Learning", lecture 6.5, 2012; centered: A. Graves,
/// "Generating Sequences With Recurrent Neural Networks", 2013. As torch.optim.RMSprop.
class Rmsprop final : public FusedOptimizer {
 public:
  Rmsprop(const Settings& settings, const OptimizerInput& input)
      : FusedOptimizer(settings, settings.real("momentum"), input.groups),
        alpha_(settings.real("alpha")),
        eps_(settings.real("eps")),
        square_avg_(add_slot("square_avg")) {
    if (settings.boolean("centered")) grad_avg_ = add_slot("grad_avg");
    if (settings.real("momentum") > 0) buffer_ = add_slot("momentum_buffer");
  }

 private:
  void update(const FusedStep& step) override {
    unless_skipped(step, [&] {
      const Tensors gradients =
          step.weight_decay > 0 ? at::_foreach_add(step.gradients, step.parameters, step.weight_decay) : step.gradients;
      const Tensors& squares = step.state[square_avg_];
      at::_foreach_mul_(squares, alpha_);
      at::_foreach_addcmul_(squares, gradients, gradients, 1 - alpha_);
      const Tensors roots = root(step, gradients);
      Tensors changes;
      if (buffer_) {
        const Tensors& buffers = step.state[*buffer_];
        at::_foreach_mul_(buffers, momentum());
        at::_foreach_addcdiv_(buffers, gradients, roots, 1);
        for (const at::Tensor& buffer : buffers) changes.push_back(buffer.clone());
      } else {
        changes = at::_foreach_div(gradients, roots);
      }
      multiply(changes, step.rate());
      at::_foreach_sub_(step.parameters, changes);
    });
  }

  /// Returns the divisors of the gradients.
  Tensors root(const FusedStep& step, const Tensors& gradients) const {
    const Tensors& squares = step.state[square_avg_];
    Tensors roots;
    if (grad_avg_) {
      const Tensors& means = step.state[*grad_avg_];
      at::_foreach_lerp_(means, gradients, 1 - alpha_);
      roots = at::_foreach_addcmul(squares, means, means, -1);
      at::_foreach_sqrt_(roots);
    } else {
      roots = at::_foreach_sqrt(squares);
    }
    at::_foreach_add_(roots, eps_);
    return roots;
  }

  double alpha_, eps_;
  std::size_t square_avg_;
  std::optional<std::size_t> grad_avg_, buffer_;
};

}  // namespace
#endif

FLOWTRAIN_PARTS(rmsprop) {
  parts.optimizers.add({"rmsprop",
                        "gradients divided by their root mean square; weight decay is added to the gradient",
                        {{"alpha", Kind::real, 0.99, "decay rate of the mean square", 0, 1},
                         {"eps", Kind::real, 1e-8, "term added to the denominator", 0, 1e300},
                         {"momentum", Kind::real, 0.0, "share of the last step that the next one keeps", 0, 1},
                         {"centered", Kind::boolean, false, "divide by the standard deviation of the gradient"}},
                        FLOWTRAIN_MAKE([](const Settings& settings, const OptimizerInput& input) {
                          return std::make_unique<Rmsprop>(settings, input);
                        }),
                        {.momentum = "momentum"},
                        [](const Settings& settings) {
                          for (const std::string key : {"alpha", "momentum"}) check_below_one(settings, key);
                        }});
}

}  // namespace flowtrain::nets
