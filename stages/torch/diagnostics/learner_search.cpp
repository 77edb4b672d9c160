#include "stages/torch/diagnostics/learner_search.h"

#include <ATen/record_function.h>

#include "nets/diagnostics/op_watch.h"
#include "stages/torch/diagnostics/nonfinite_search.h"

namespace flowtrain {

// A row without its batch: without dropout, and with running statistics in place of the batch's, as of before the step.
bool TorchNonFiniteSearch::fails_alone(const nets::NamedTensors& row, double divisor, bool in_loss) {
  TrainStep& step = parts_.step;
  parts_.learner.discard();
  parts_.net.train(false);
  nets::NamedTensors made;
  for (auto& pass : step.passes()) {
    if (!pass.due(step.iteration())) continue;
    const auto lowered = step.optimizers().scaled(pass.lowered(step.forward(pass, row)) / divisor);
    pass.backward(lowered, step.iteration(), step.passes().size() == 1);
    made.add("loss", lowered);
  }
  parts_.net.train(true);
  for (const auto& [name, parameter] : step.optimizers().learned())
    if (!in_loss && parameter.grad().defined()) made.add(name, parameter.grad());
  return find_in(made, "", 0).has_value();
}

std::optional<NonFiniteOrigin> TorchNonFiniteSearch::find(Slab& slab, bool in_loss) {
  const auto rows = static_cast<std::int64_t>(slab.rows().size());
  const nets::NamedTensors parameters = parts_.net.parameters();
  parts_.graphs.leave();  // each operation is to be seen
  if (slab.ticket().micro == 0)
    if (auto found = find_in(parameters, "parameters", 0)) return found;
  const auto batch = copies(parts_.batches(slab));
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
  if (origin.phase != "norm")
    blame_rows(
        batch, rows, [&](const auto& row) { return fails_alone(row, divisor, in_loss); }, origin);
  return origin;
}

}  // namespace flowtrain
