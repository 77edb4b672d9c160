#include "nets/entries.h"
#include "nets/optim/key_checks.h"
#include "sampling/core/pattern.h"

#if FLOWTRAIN_COMPUTES
#include <algorithm>
#include <cmath>

#include "nets/optim/fused_optimizer.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

/// Returns a matrix with the singular vectors of `matrix` and singular values near 1, by Newton and Schulz's iteration.
at::Tensor orthogonal(const at::Tensor& matrix, std::int64_t steps) {
  constexpr double a = 3.4445, b = -4.7750, c = 2.0315;  // the author's own
  const bool tall = matrix.size(0) > matrix.size(1);
  at::Tensor x = tall ? matrix.t() : matrix;
  x = x / (at::linalg_vector_norm(x, 2, {0, 1}, /*keepdim=*/true) + 1e-7);
  for (std::int64_t step = 0; step < steps; ++step) {
    const at::Tensor gram = at::matmul(x, x.t());
    x = a * x + at::matmul(b * gram + at::matmul(c * gram, gram), x);
  }
  return tall ? x.t() : x;
}

/// Returns the tensor as a matrix: the filters of a convolution are its rows.
at::Tensor as_matrix(const at::Tensor& tensor) { return tensor.reshape({tensor.size(0), -1}); }

/// Muon: K. Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024, as in the author's
/// SingleDeviceMuonWithAuxAdam.
class Muon final : public FusedOptimizer {
 public:
  Muon(const Settings& settings, const OptimizerInput& input)
      : FusedOptimizer(settings, settings.real("momentum"), input.groups),
        nesterov_(settings.boolean("nesterov")),
        matches_adam_(settings.text("adjust_lr") == "match_rms_adamw"),
        ns_steps_(settings.integer("ns_steps")),
        precision_(settings.text("ns_precision")),
        adam_beta1_(settings.reals("adamw_betas").at(0)),
        adam_beta2_(settings.reals("adamw_betas").at(1)),
        adam_eps_(settings.real("adamw_eps")),
        adam_lr_mult_(settings.real("adamw_lr_mult")) {
    if (adam_lr_mult_ == 0) adam_lr_mult_ = matches_adam_ ? 1 : 0.015;
    const Pattern others(settings.text("adamw"));
    const auto of = [&](bool matrices, const MakeState& make) {
      return [=](const std::string& name, const at::Tensor& parameter) {
        const bool matrix = parameter.dim() > 1 && parameter.numel() > 0 && !others.found_in(name);
        return matrix == matrices ? make(name, parameter) : at::Tensor();
      };
    };
    buffer_ = add_slot("momentum_buffer", of(true, zeros));
    step_ = add_slot("step", of(false, scalar));
    exp_avg_ = add_slot("exp_avg", of(false, zeros));
    exp_avg_sq_ = add_slot("exp_avg_sq", of(false, zeros));
  }

 private:
  void update(const FusedStep& step) override {
    unless_skipped(step, [&] {
      const at::Tensor rate = step.rate();
      const at::Tensor kept = 1 - rate * step.weight_decay;
      std::vector<std::size_t> others;
      for (std::size_t i = 0; i < step.parameters.size(); ++i) {
        if (!step.state[buffer_][i].defined()) {
          others.push_back(i);
          continue;
        }
        const at::Tensor change = direction(step, i).mul_(rate);
        if (step.weight_decay > 0) step.parameters[i].mul_(kept);
        step.parameters[i].sub_(change);
      }
      if (!others.empty()) learn_by_adam(step, others, rate);
    });
  }

  /// Returns the change of a matrix for a learning rate of 1, in the parameter's type and shape.
  at::Tensor direction(const FusedStep& step, std::size_t i) const {
    const at::Tensor &gradient = step.gradients[i], &buffer = step.state[buffer_][i];
    buffer.lerp_(gradient, 1 - momentum());
    at::Tensor matrix = as_matrix(nesterov_ ? gradient.lerp(buffer, momentum()) : buffer);
    if (precision_ == "bf16" || (precision_ == "auto" && matrix.is_cuda())) matrix = matrix.to(at::kBFloat16);
    at::Tensor change = orthogonal(matrix, ns_steps_);
    // The author's code compares the last two dimensions, those of its kernel for a convolution.
    if (!matches_adam_) change.mul_(std::sqrt(std::max(1.0, ratio(gradient.size(-2), gradient.size(-1)))));
    change = change.reshape(gradient.sizes()).to(gradient.scalar_type());
    if (matches_adam_) change.mul_(0.2 * std::sqrt(static_cast<double>(std::max(matrix.size(0), matrix.size(1)))));
    return change;
  }

  static double ratio(std::int64_t rows, std::int64_t columns) {
    return static_cast<double>(rows) / static_cast<double>(columns);
  }

  void learn_by_adam(const FusedStep& step, const std::vector<std::size_t>& which, const at::Tensor& rate) const {
    const auto picked = [&](const Tensors& all) {
      Tensors some;
      for (const std::size_t i : which) some.push_back(all[i]);
      return some;
    };
    const Tensors parameters = picked(step.parameters), gradients = picked(step.gradients),
                  steps = picked(step.state[step_]), means = picked(step.state[exp_avg_]),
                  squares = picked(step.state[exp_avg_sq_]);
    at::_foreach_add_(steps, 1);
    const at::Tensor lr = (rate * adam_lr_mult_).to(rate.is_cuda() ? at::kFloat : at::kDouble);  // the kernels' types
    at::_fused_adamw_(parameters, gradients, means, squares, /*max_exp_avg_sqs=*/Tensors(), steps, lr, adam_beta1_,
                      adam_beta2_, step.weight_decay, adam_eps_, /*amsgrad=*/false, /*maximize=*/false,
                      /*grad_scale=*/std::nullopt, /*found_inf=*/std::nullopt);
  }

  bool nesterov_, matches_adam_;
  std::int64_t ns_steps_;
  std::string precision_;
  double adam_beta1_, adam_beta2_, adam_eps_, adam_lr_mult_;
  std::size_t buffer_ = 0, step_ = 0, exp_avg_ = 0, exp_avg_sq_ = 0;
};

}  // namespace
#endif

FLOWTRAIN_PARTS(muon) {
  parts.optimizers.add(
      {"muon",
       "momentum whose matrices are made orthogonal, for hidden layers; AdamW for all else; decoupled weight decay",
       {{"momentum", Kind::real, 0.95, "share of the mean gradient that the next one keeps", 0, 1},
        {"nesterov", Kind::boolean, true, "use Nesterov's momentum"},
        {"ns_steps", Kind::integer, std::int64_t{5}, "steps of Newton and Schulz's iteration", 1, 99},
        {.name = "ns_precision",
         .kind = Kind::text,
         .fallback = std::string("auto"),
         .help = "type of the iteration: bf16, that of the parameter (full), or bf16 on GPUs only (auto)",
         .choices = {"auto", "bf16", "full"}},
        {.name = "adjust_lr",
         .kind = Kind::text,
         .fallback = std::string("original"),
         .help = "factor of lr: sqrt(max(1, rows / columns)), or 0.2 sqrt(max(rows, columns)), with which steps are "
                 "about as long as AdamW's",
         .choices = {"original", "match_rms_adamw"}},
        {"adamw", Kind::text,
         std::string(R"(embed|_tokens?$|position_bias|(^|[._])(emb|wte|wpe|heads?|classifier)([._]|$)|^fc\.)"),
         "regular expression of the names of matrices that AdamW learns; vectors it always learns"},
        {"adamw_lr_mult", Kind::real, 0.0,
         "AdamW: its learning rate as a multiple of lr; 0 = 0.015, and 1 with match_rms_adamw", 0, 1e6},
        {"adamw_betas", Kind::reals, std::vector<double>{0.9, 0.95}, "AdamW: decay rates of the two moments", 0, 1},
        {"adamw_eps", Kind::real, 1e-10, "AdamW: term added to the denominator", 0, 1e300}},
       FLOWTRAIN_MAKE([](const Settings& settings, const OptimizerInput& input) {
         return std::make_unique<Muon>(settings, input);
       }),
       {.momentum = "momentum"},
       [](const Settings& settings) {
         check_below_one(settings, "momentum");
         check_betas(settings, "adamw_betas");
         try {
           Pattern pattern(settings.text("adamw"));
         } catch (const PatternError& error) {
           throw settings.error("adamw", error.what(), ExitCode::usage, "write it as in Python and Perl: ^layer1\\.");
         }
       }});
}

}  // namespace flowtrain::nets
