#include "pipeline/engine/validation/async_validation.h"

#include <utility>

#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/engine/validation/agreement.h"
#include "sampling/core/error.h"
#include "stages/system/named_thread.h"

namespace flowtrain {

AsyncValidation::~AsyncValidation() {
  leaves_ = true;
  if (under_way()) cancel_reads();
  end();
}

void AsyncValidation::end() {
  const MutexLock lock(mutex_);
  ends_ = true;
  changed_.notify_all();
}

void AsyncValidation::start(ValidationReplica& replica, std::uint64_t iteration) {
  if (!thread_.joinable()) thread_ = named_thread("ft-validation", [this] { serve(); });
  group_ = &replica.group();
  over_ = false;
  under_way_ = true;
  const MutexLock lock(mutex_);
  wanted_ = Wanted{&replica, iteration};
  changed_.notify_all();
}

void AsyncValidation::serve() {
  MutexLock lock(mutex_);
  while (true) {
    while (!wanted_ && !ends_) changed_.wait(lock);
    if (!wanted_) return;
    const Wanted wanted = *std::exchange(wanted_, std::nullopt);
    lock.unlock();
    validate(wanted);
    over_ = true;
    over_.notify_all();
    lock.lock();
  }
}

void AsyncValidation::validate(const Wanted& wanted) {
  Agreement agreement(*group_);
  const auto goes_on = [&] {
    if (leaves_) throw UserError(ExitCode::distributed, "this process has left the validation");
    return !(signal_ = agreement.ask(own_signal()));
  };
  try {
    found_ = validate_sets(sets_, *wanted.replica, wanted.iteration, goes_on, *group_, on_error_);
  } catch (...) {
    error_ = std::current_exception();
  }
}

// A read of a server that does not answer is cancelled only in a single process: the ranks of a group must all get to
// the batch on which they agree.
void AsyncValidation::give_up(int signal) {
  if (!under_way()) return;
  given_up_ = signal;
  if (group_->size() == 1) cancel_reads();
}

Validated AsyncValidation::finish() {
  over_.wait(false);
  under_way_ = false;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return std::exchange(found_, {});
}

std::optional<int> AsyncValidation::own_signal() const {
  if (const int signal = given_up_) return signal;
  return interrupt_ ? interrupt_->requested() : std::nullopt;
}

void AsyncValidation::cancel_reads() const {
  for (auto& set : sets_) set.loader.cancel_reads();
}

}  // namespace flowtrain
