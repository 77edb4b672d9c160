#include "pipeline/train/nonfinite.h"

#include <cmath>

#include "pipeline/telemetry/log.h"
#include "sampling/core/settings.h"

namespace flowtrain {

NonFinitePolicy NonFinitePolicy::from(const Settings& train) {
  const std::string& action = train.text("nonfinite");
  return {action == "skip"       ? Action::skip
          : action == "rollback" ? Action::rollback
                                 : Action::stop,
          static_cast<std::uint64_t>(train.integer("max_nonfinite")), train.real("rollback_lr")};
}

bool is_finite(const StepStats& result) {
  return std::isfinite(result.loss) && (std::isfinite(result.grad_norm) || result.overflow);
}

std::string what_is_not_finite(const StepStats& result) {
  const bool loss = !std::isfinite(result.loss);
  const double value = loss ? result.loss : result.grad_norm;
  // A NaN's sign means nothing.
  return concat(loss ? "the loss is " : "the gradients' norm is ",
                std::isnan(value) ? std::string("nan") : concat(value));
}

UserError nonfinite_error(std::uint64_t iteration, const std::vector<std::uint64_t>& samples, const StepStats& result,
                          const std::string& run, const std::string& why) {
  std::string ids;
  for (const auto id : samples) ids += (ids.empty() ? "" : ", ") + std::to_string(id);
  return UserError(ExitCode::numerics,
                   concat(what_is_not_finite(result), " at iteration ", iteration, why.empty() ? "" : " (" + why + ")",
                          "; samples of its last batch: ", ids),
                   concat("`flowtrain replay ", run,
                          " --find-nan` names the sample and the layer; lower optim.lr, add lr.warmup, set "
                          "train.clip, or let train.nonfinite skip such updates"));
}

}  // namespace flowtrain
