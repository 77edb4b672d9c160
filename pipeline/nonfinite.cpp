#include "pipeline/nonfinite.h"

#include <cmath>

#include "pipeline/telemetry/log.h"

namespace flowtrain {

NonFinitePolicy NonFinitePolicy::from(const Settings& train) {
  const std::string& action = train.text("nonfinite");
  return {action == "skip"       ? Action::skip
          : action == "rollback" ? Action::rollback
                                 : Action::stop,
          static_cast<std::uint64_t>(train.integer("max_nonfinite")), train.real("rollback_lr")};
}

bool is_finite(const StepResult& result) { return std::isfinite(result.loss) && std::isfinite(result.grad_norm); }

UserError nonfinite_error(std::uint64_t iteration, const std::vector<std::uint64_t>& samples, const StepResult& result,
                          const std::string& why) {
  std::string ids;
  for (const auto id : samples) ids += (ids.empty() ? "" : ", ") + std::to_string(id);
  const std::string what = std::isfinite(result.loss) ? say("the gradients' norm is ", result.grad_norm)
                                                      : say("the loss is ", result.loss);
  return UserError(Exit::numerics,
                   say(what, " at iteration ", iteration, why.empty() ? "" : " (" + why + ")",
                       "; samples of its last batch: ", ids),
                   say("lower optim.lr, add lr.warmup, set train.clip, or let train.nonfinite skip such updates; "
                       "`flowtrain replay CONFIG --iter ", iteration, "` writes the batch to files"));
}

}  // namespace flowtrain
