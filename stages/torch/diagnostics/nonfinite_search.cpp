#include "stages/torch/diagnostics/nonfinite_search.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <utility>

#include "stages/torch/named.h"
namespace flowtrain {

namespace {

bool has_rows(const at::Tensor& tensor, std::int64_t rows) {
  return rows > 0 && tensor.dim() > 0 && tensor.size(0) == rows;
}

void count(const at::Tensor& tensor, NonFiniteOrigin& origin) {
  origin.nans = static_cast<std::uint64_t>(at::isnan(tensor).sum().item<std::int64_t>());
  origin.infinities = static_cast<std::uint64_t>(at::isinf(tensor).sum().item<std::int64_t>());
  origin.elements = static_cast<std::uint64_t>(tensor.numel());
}

void take_rows(const at::Tensor& tensor, NonFiniteOrigin& origin) {
  const at::Tensor finite = at::isfinite(tensor).reshape({tensor.size(0), -1}).all(1).to(at::kCPU);
  for (std::int64_t row = 0; row < tensor.size(0); ++row)
    if (!finite[row].item<bool>()) origin.rows.push_back(static_cast<std::size_t>(row));
}

// A layer with as many outputs as the batch has rows has a gradient of its weights that looks like one of rows.
bool is_shaped_as_a_parameter(const at::Tensor& tensor, const nets::NamedTensors& parameters) {
  return std::any_of(parameters.begin(), parameters.end(), [&](auto& item) {
    const at::Tensor& parameter = item.second;
    return tensor.sizes() == parameter.sizes() || (parameter.dim() == 2 && tensor.sizes() == parameter.t().sizes());
  });
}

double largest_of(const std::string& layer, const nets::NamedTensors& parameters) {
  double largest = 0;
  for (const auto& [name, tensor] : parameters)
    if (!layer.empty() && nets::layer_of(name) == layer && tensor.numel() > 0)
      largest = std::max(largest, tensor.abs().max().item<double>());
  return largest;
}

}  // namespace

std::optional<NonFiniteOrigin> find_in(const nets::NamedTensors& tensors, const std::string& phase, std::int64_t rows) {
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.is_floating_point() || at::isfinite(tensor).all().item<bool>()) continue;
    NonFiniteOrigin origin;
    origin.phase = phase;
    origin.layer = name;
    count(tensor, origin);
    if (has_rows(tensor, rows)) {
      take_rows(tensor, origin);
      origin.rows_by = "their values";
    }
    return origin;
  }
  return {};
}

NonFiniteOrigin origin_of(const nets::NonFiniteOp& op, const nets::NamedTensors& parameters, std::int64_t rows) {
  NonFiniteOrigin origin;
  origin.phase = op.scope.empty() ? "loss" : op.scope;  // half precision scales the loss outside any scope
  origin.operation = op.operation;
  origin.layer = op.place.layer;
  origin.after_layer = op.place.after;
  count(op.made, origin);
  origin.largest_parameter = largest_of(op.place.layer, parameters);
  if (op.scope != "norm" && has_rows(op.made, rows) &&
      !(op.scope == "backward" && is_shaped_as_a_parameter(op.made, parameters))) {
    take_rows(op.made, origin);
    origin.rows_by = "the rows of what the operation made";
  }
  return origin;
}

void blame_rows(const nets::NamedTensors& batch, std::int64_t rows,
                const std::function<bool(const nets::NamedTensors&)>& fails, NonFiniteOrigin& origin) {
  if (!origin.rows.empty() && static_cast<std::int64_t>(origin.rows.size()) < rows) return;
  std::vector<std::size_t> guilty;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto alone = mapped(
        batch, [&](const at::Tensor& tensor) { return has_rows(tensor, rows) ? tensor.narrow(0, row, 1) : tensor; });
    if (fails(alone)) guilty.push_back(static_cast<std::size_t>(row));
  }
  // The cause is not a row if none fails alone, since it then takes several, as in a batch's statistics. The rows of
  // the operation, if known, need no second look.
  if (guilty.empty() || guilty == origin.rows) return;
  origin.rows = std::move(guilty);
  origin.rows_by = "each row alone, in eval mode";
}

// Computes one row without its batch and dropout, with running statistics, as of before the step, in place of the
// batch's.
bool TorchNonFiniteSearch::fails_alone(const nets::NamedTensors& row, double divisor, bool in_loss) {
  TrainStep& step = parts_.step;
  parts_.learner.discard();
  parts_.net.train(false);
  nets::NamedTensors made;
  for (auto& pass : step.passes()) {
    if (!pass.due(step.iteration())) continue;
    const auto lowered = step.optimizers().scaled(pass.lowered(step.forward(pass, row)) / divisor);
    if (!compiled_)  // eval mode has no gradients
      pass.backward(lowered, step.iteration(), step.passes().size() == 1);
    made.add("loss", lowered);
  }
  parts_.net.train(true);
  for (const auto& [name, parameter] : step.optimizers().learned())
    if (!in_loss && parameter.grad().defined()) made.add(name, parameter.grad());
  return find_in(made, "", 0).has_value();
}

std::optional<NonFiniteOrigin> TorchNonFiniteSearch::find(Slab& slab, bool in_loss) {
  const auto rows = static_cast<std::int64_t>(slab.row_count());
  const nets::NamedTensors parameters = parts_.net.parameters();
  parts_.graphs.leave();  // graphs would hide single operations
  if (slab.ticket().micro == 0)
    if (auto found = find_in(parameters, "parameters", 0)) return found;
  const auto batch =  // the copies outlive the slab
      mapped(parts_.batches(slab), [](const at::Tensor& tensor) { return tensor.clone(); });
  if (auto found = find_in(batch, "batch", rows)) return found;
  const nets::OpWatch watch(parameters, in_loss);
  parts_.learner.forward_backward(slab, {});
  if (!in_loss && slab.ticket().micro + 1u == parts_.accum) {
    RECORD_USER_SCOPE("norm");
    parts_.learner.finish_gradients();
  }
  if (!watch.first()) return {};
  NonFiniteOrigin origin = origin_of(*watch.first(), parameters, rows);
  const double divisor = static_cast<double>(parts_.accum) * static_cast<double>(rows);
  const bool same_rows = slab.rows_of(0) == rows;  // a row of one group alone is no batch
  const bool has_rows_alone = same_rows && (!compiled_ || (in_loss && compiled_->rows() == 0));
  if (origin.phase != "norm" && has_rows_alone)
    blame_rows(
        batch, rows, [&](const auto& row) { return fails_alone(row, divisor, in_loss); }, origin);
  return origin;
}

}  // namespace flowtrain
