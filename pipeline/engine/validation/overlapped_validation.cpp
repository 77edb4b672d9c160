#include "pipeline/engine/validation/overlapped_validation.h"

#include <utility>

#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/engine/validation/agreement.h"
#include "sampling/core/error.h"
#include "stages/system/named_thread.h"

namespace flowtrain {

OverlappedValidation::~OverlappedValidation() {
  leaves_ = true;
  if (under_way()) cancel_reads();
  end();
}

void OverlappedValidation::end() {
  const MutexLock lock(mutex_);
  ends_ = true;
  changed_.notify_all();
}

void OverlappedValidation::start(ValidationReplica& net, std::uint64_t iteration) {
  if (!thread_.joinable()) thread_ = named_thread("ft-validation", [this] { serve(); });
  group_ = &net.group();
  over_ = false;
  under_way_ = true;
  const MutexLock lock(mutex_);
  wanted_ = Wanted{&net, iteration};
  changed_.notify_all();
}

void OverlappedValidation::serve() {
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

void OverlappedValidation::validate(const Wanted& wanted) {
  Agreement agreement(*group_);
  const auto goes_on = [&] {
    if (leaves_) throw UserError(ExitCode::distributed, "this process has left the validation");
    return !(signal_ = agreement.ask(own_signal()));
  };
  try {
    found_ = validate_sets(sets_, *wanted.net, wanted.iteration, goes_on, *group_, on_error_);
  } catch (...) {
    error_ = std::current_exception();
  }
}

// A batch that comes from a server which is away would be waited for. Where ranks must all get to the batch that they
// agree on it is: a canceled read would be an error of this one.
void OverlappedValidation::give_up(int signal) {
  if (!under_way()) return;
  given_up_ = signal;
  if (group_->size() == 1) cancel_reads();
}

Validated OverlappedValidation::finish() {
  over_.wait(false);
  under_way_ = false;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return std::exchange(found_, {});
}

std::optional<int> OverlappedValidation::own_signal() const {
  if (const int signal = given_up_) return signal;
  return interrupt_ ? interrupt_->requested() : std::nullopt;
}

void OverlappedValidation::cancel_reads() const {
  for (auto& set : sets_) set.loader.cancel_reads();
}

}  // namespace flowtrain
