#include "pipeline/train/step_errors.h"

#include <string>
#include <utility>

#include "pipeline/telemetry/log.h"
#include "sampling/core/error.h"

namespace flowtrain {

bool StepErrors::forward_backward(Slab& slab, bool last, const std::function<StepFlags()>& own) try {
  if (!failure_)
    learner_.forward_backward(slab, last ? own() : StepFlags());
  else if (last)
    learner_.contribute_zeros(slab, own());
  return true;
} catch (const std::exception& error) {
  if (policy_.action == ErrorPolicy::Action::stop || !is_survivable(error)) throw;
  if (policy_.action == ErrorPolicy::Action::save) {
    learner_.discard();
    flags_.stop_with_error(std::current_exception());
    return false;
  }
  if (failure_) throw;  // while it contributed zeros
  failure_ = std::current_exception();
  std::string ids;
  for (auto& row : slab.rows()) ids += (ids.empty() ? "" : ", ") + std::to_string(row.id);
  log_warn(concat("the update of iteration ", slab.ticket().iteration, " is left out: ", summary_of(failure_),
                  "; samples of the batch: ", ids));
  if (last && !learner_.contribute_zeros(slab, own())) throw;
  return true;
}

void StepErrors::skip_update(std::uint64_t iteration) {
  const std::exception_ptr failure = std::exchange(failure_, nullptr);
  learner_.discard();
  if (++state_.skipped_in_a_row <= policy_.most) return;
  const auto text = concat(policy_.most, " updates in a row were left out (train.max_skipped)");
  if (group_.leads()) log_warn(text);
  if (failure) std::rethrow_exception(failure);
  throw UserError(ExitCode::distributed, concat(text, ", at iteration ", iteration, ", for errors of other processes"),
                  "logs/ in the run's folder has a file of each process");
}

}  // namespace flowtrain
