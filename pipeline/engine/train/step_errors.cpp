#include "pipeline/engine/train/step_errors.h"

#include <string>
#include <utility>

#include "pipeline/base/telemetry/log.h"
#include "sampling/core/error.h"

namespace flowtrain {

bool StepErrors::forward_backward(Slab& slab, bool last, const std::function<StepFlags()>& own) try {
  if (!failure)
    learner.forward_backward(slab, last ? own() : StepFlags());
  else if (last)
    learner.contribute_zeros(slab, own());
  return true;
} catch (const std::exception& error) {
  if (policy.action == ErrorPolicy::Action::stop || !is_survivable(error)) throw;
  if (policy.action == ErrorPolicy::Action::save) {
    learner.discard();
    flags.stop_with_error(std::current_exception());
    return false;
  }
  if (failure) throw;  // while it contributed zeros
  failure = std::current_exception();
  log_warn(concat("the update of iteration ", slab.ticket().iteration, " is left out: ", summary_of(failure),
                  "; samples of the batch: ", join(slab.rows(), ", ", &RowWork::id)));
  if (last && !learner.contribute_zeros(slab, own())) throw;
  return true;
}

void StepErrors::skip_update(std::uint64_t iteration) {
  const std::exception_ptr own = std::exchange(failure, nullptr);
  learner.discard();
  if (++state.skipped_in_a_row <= policy.most) return;
  const auto text = concat(policy.most, " updates in a row were left out (train.max_skipped)");
  warn_once(group, text);
  if (own) std::rethrow_exception(own);
  throw UserError(ExitCode::distributed, concat(text, ", at iteration ", iteration, ", for errors of other processes"),
                  "logs/ in the run's folder has a file of each process");
}

}  // namespace flowtrain
