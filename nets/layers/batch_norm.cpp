#include "nets/layers/batch_norm.h"

#include <torch/autograd.h>

#include "sampling/core/mistake.h"

namespace flowtrain::nets {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr std::array<std::int64_t, 3> all_but_channels{0, 2, 3};

/// A sum over processes, kept in a function's context.
struct KeptSum : torch::CustomClassHolder {
  explicit KeptSum(SumOverProcesses from) : sum(std::move(from)) {}
  SumOverProcesses sum;
};

/// Views (C) as (1, C, 1, 1).
at::Tensor per_channel(const at::Tensor& values) { return values.view({1, -1, 1, 1}); }

struct Statistics {
  at::Tensor mean, var;  // (C) f32, biased
  at::Tensor rows;       // () f64: rows times pixels of all processes
};

/// Combines the statistics of each process in one pass over its data; in doubles, because squares are subtracted.
Statistics statistics_of(const at::Tensor& x, const SumOverProcesses& sum) {
  const auto channels = x.size(1);
  const std::int64_t pixels = x.numel() / channels;
  const auto own_rows = static_cast<double>(pixels);
  const auto [own_var, own_mean] = at::var_mean(x, all_but_channels, /*unbiased=*/false);
  const auto mean = own_mean.to(torch::kFloat64);
  at::Tensor sums = at::cat({mean * own_rows, (own_var.to(torch::kFloat64) + mean.square()) * own_rows,
                             at::full({1}, own_rows, mean.options())});
  sum(sums);
  Statistics all;
  all.rows = sums[2 * channels];
  const auto whole_mean = sums.narrow(0, 0, channels) / all.rows;
  all.mean = whole_mean.to(torch::kFloat32);
  all.var = (sums.narrow(0, channels, channels) / all.rows - whole_mean.square()).clamp_min_(0).to(torch::kFloat32);
  return all;
}

/// Adds `momentum` times the unbiased variance. The number of rows is not read from a device, because that would wait
/// for all its work.
void add_unbiased(at::Tensor& running_var, const Statistics& all, double momentum) {
  if (all.rows.is_cpu()) {
    const double rows = all.rows.item<double>();
    running_var.add_(all.var, momentum * rows / std::max(rows - 1, 1.0));
  } else {
    running_var.addcmul_(all.var, (all.rows * momentum / (all.rows - 1).clamp_min_(1)).to(torch::kFloat32));
  }
}

/// Batch normalisation with sums over all processes: S. Ioffe and C. Szegedy, ICML 2015, equations of section 3.
class Normalise : public Function<Normalise> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, const Statistics& all, double eps, const SumOverProcesses& sum) {
    const auto scale = at::rsqrt(all.var + eps);
    context->save_for_backward({x, weight, all.mean, scale, all.rows});
    context->saved_data["sum"] = c10::IValue::make_capsule(c10::make_intrusive<KeptSum>(sum));
    return (x - per_channel(all.mean)).mul_(per_channel(scale * weight)).add_(per_channel(bias));
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &weight = saved[1], &mean = saved[2], &scale = saved[3], &rows = saved[4];
    const auto kept = c10::static_intrusive_pointer_cast<KeptSum>(context->saved_data["sum"].toCapsule());
    const auto& gradient = gradients[0];

    const auto normal = (x - per_channel(mean)).mul_(per_channel(scale));
    const auto of_bias = gradient.sum(all_but_channels);
    const auto of_weight = (gradient * normal).sum(all_but_channels);
    at::Tensor sums = at::cat({of_bias, of_weight});
    kept->sum(sums);
    sums /= rows;
    const auto channels = x.size(1);
    const auto of_x = (gradient - per_channel(sums.narrow(0, 0, channels)) -
                       normal * per_channel(sums.narrow(0, channels, channels))) *
                      per_channel(scale * weight);
    return {of_x, of_weight, of_bias, {}, {}, {}};
  }
};

}  // namespace

at::Tensor BatchNorm2dImpl::forward(const at::Tensor& x) {
  if (is_training() && !sum_ && x.numel() == x.size(1))
    throw Mistake(
        "batch normalisation cannot compute statistics of a single row whose images have shrunk to one pixel",
        "give each process two rows of every batch: set a larger loader.batch (with loader.last_batch = \"pad\" one "
        "that leaves no single row at the end of an epoch), or dist.sync_batch_norm = true, which uses the rows "
        "of all processes, or use larger images");
  if (!sum_ || !is_training()) return torch::nn::BatchNorm2dImpl::forward(x);
  const at::Tensor wide = x.to(torch::kFloat32);
  Statistics all;
  {
    const torch::NoGradGuard no_gradients;
    all = statistics_of(wide, sum_);
    const double momentum = options.momentum().value();
    running_mean.mul_(1 - momentum).add_(all.mean, momentum);
    add_unbiased(running_var.mul_(1 - momentum), all, momentum);
    num_batches_tracked += 1;
  }
  return Normalise::apply(wide, weight, bias, all, options.eps(), sum_).to(x.scalar_type());
}

}  // namespace flowtrain::nets
