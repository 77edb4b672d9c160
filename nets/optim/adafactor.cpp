#include "nets/entries.h"

#if FLOWTRAIN_COMPUTES
#include <cmath>
#include <limits>

#include "nets/optim/fused_optimizer.h"
#include "nets/optim/precision.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

/// Returns the root mean square as an f64 scalar.
at::Tensor root_mean_square(const at::Tensor& tensor) {
  return tensor.norm().to(at::kDouble) / std::sqrt(static_cast<double>(tensor.numel()));
}

/// Returns the mean of the squares along a dimension, which stays with size 1.
at::Tensor mean_square(const at::Tensor& tensor, std::int64_t dim) {
  return at::linalg_vector_norm(tensor, 2, dim, /*keepdim=*/true).square_().div_(tensor.size(dim));
}

/// Adafactor: N. Shazeer, M. Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost", ICML 2018, as in
/// torch.optim.Adafactor. Instead of a square for each element of a matrix it keeps their means by row and by column.
class Adafactor final : public FusedOptimizer {
 public:
  Adafactor(const Settings& settings, const OptimizerInput& input)
      : FusedOptimizer(settings, /*momentum=*/0, input.groups),
        beta2_decay_(settings.real("beta2_decay")),
        eps1_(settings.real("eps1")),
        eps2_(settings.real("eps2")),
        threshold_(settings.real("clip_threshold")),
        step_(add_slot("step", scalar)),
        row_(add_slot("row_var", means_along(-1))),
        column_(add_slot("col_var", means_along(-2))),
        variance_(add_slot("variance", [](const std::string& name, const at::Tensor& parameter) {
          return parameter.dim() > 1 ? at::Tensor() : zeros(name, parameter);
        })) {}

 private:
  static MakeState means_along(std::int64_t dim) {
    return [dim](const std::string&, const at::Tensor& parameter) {
      if (parameter.dim() <= 1) return at::Tensor();
      auto sizes = parameter.sizes().vec();
      sizes[sizes.size() - static_cast<std::size_t>(-dim)] = 1;
      return at::zeros(sizes, parameter.options().dtype(state_type(parameter)));
    };
  }

  void update(const FusedStep& step) override {
    unless_skipped(step, [&] {
      const at::Tensor rate = step.rate();
      for (std::size_t i = 0; i < step.parameters.size(); ++i) learn(step, i, rate);
    });
  }

  void learn(const FusedStep& step, std::size_t i, const at::Tensor& rate) const {
    const at::Tensor &parameter = step.parameters[i], &gradient = step.gradients[i];
    const double eps1 = eps1_ > 0                                ? eps1_
                        : parameter.scalar_type() == at::kDouble ? std::numeric_limits<double>::epsilon()
                                                                 : std::numeric_limits<float>::epsilon();
    const at::Tensor count = step.state[step_][i].add_(1).to(at::kDouble);
    const at::Tensor scale = root_mean_square(parameter).clamp_min_(eps2_) * at::minimum(rate, count.rsqrt());
    if (step.weight_decay > 0) parameter.mul_(1 - rate * step.weight_decay);
    const at::Tensor weight = count.pow(beta2_decay_).to(gradient.scalar_type());
    at::Tensor change = mean_squares(step, i, weight, eps1).clamp_min_(eps1 * eps1).rsqrt_().mul_(gradient);
    const at::Tensor cut = (root_mean_square(change) / threshold_).clamp_min_(1);
    parameter.sub_(change.mul_(scale / cut));
  }

  /// Returns the estimate of the mean square of each element; `weight` is the share of this gradient in it.
  at::Tensor mean_squares(const FusedStep& step, std::size_t i, const at::Tensor& weight, double eps1) const {
    const at::Tensor& gradient = step.gradients[i];
    if (gradient.dim() <= 1) return step.state[variance_][i].lerp_(gradient * gradient, weight).clone();
    const at::Tensor &rows = step.state[row_][i], &columns = step.state[column_][i];
    rows.lerp_(mean_square(gradient, -1), weight);
    columns.lerp_(mean_square(gradient, -2), weight);
    return at::matmul(rows, columns).div_(rows.mean(-2, /*keepdim=*/true).clamp_min_(eps1));
  }

  double beta2_decay_, eps1_, eps2_, threshold_;
  std::size_t step_, row_, column_, variance_;
};

}  // namespace
#endif

FLOWTRAIN_PARTS(adafactor) {
  parts.optimizers.add({"adafactor",
                        "Adam without momentum that keeps squares by row and column only, with decoupled weight decay",
                        {{"beta2_decay", Kind::real, -0.8,
                          "exponent of the step's number: the weight of a gradient in the mean square", -10, 0},
                         {"eps1", Kind::real, 0.0,
                          "least root mean square of gradients; 0 = the precision of the parameters' type", 0, 1e300},
                         {"eps2", Kind::real, 1e-3,
                          "least root mean square of a parameter, to which its steps are proportional", 0, 1e300},
                         {"clip_threshold", Kind::real, 1.0,
                          "greatest root mean square of a step before it is multiplied by lr", 1, 1e300}},
                        FLOWTRAIN_MAKE([](const Settings& settings, const OptimizerInput& input) {
                          return std::make_unique<Adafactor>(settings, input);
                        })});
}

}  // namespace flowtrain::nets
