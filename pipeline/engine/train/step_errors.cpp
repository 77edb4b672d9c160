#include "pipeline/engine/train/step_errors.h"

#include <string>
#include <utility>

#include "pipeline/base/telemetry/log.h"
#include "sampling/core/error.h"

namespace flowtrain {

// Called while the error is handled, so that `throw` rethrows it.
bool StepErrors::on_error(const std::exception& error, Slab& slab, bool last) {
  if (policy_.action == ErrorPolicy::Action::stop || !is_survivable(error)) throw;
  if (policy_.action == ErrorPolicy::Action::save) {
    learner_.discard();
    flags_.stop_with_error(std::current_exception());
    return false;
  }
  if (failure_) throw;  // It failed while it contributed zeros.
  failure_ = std::current_exception();
  log_warn(concat("the update of iteration ", slab.ticket().iteration, " is left out: ", summary_of(failure_),
                  "; samples of the batch: ", join(slab.rows(), ", ", &RowWork::id)));
  if (last && !learner_.contribute_zeros(slab, own_())) throw;
  return true;
}

void StepErrors::end_iteration(std::uint64_t iteration, bool skipped) {
  const std::exception_ptr own = std::exchange(failure_, nullptr);
  skipped_in_a_row_ = skipped ? skipped_in_a_row_ + 1 : 0;
  if (skipped_in_a_row_ <= policy_.most) return;
  const auto text = concat(policy_.most, " updates in a row were left out (train.max_skipped)");
  warn_once(group_, text);
  if (own) std::rethrow_exception(own);
  throw UserError(ExitCode::distributed, concat(text, ", at iteration ", iteration, ", for errors of other processes"),
                  "logs/ in the run's folder has a file of each process");
}

}  // namespace flowtrain
