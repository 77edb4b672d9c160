#include "pipeline/validation/overlapped_validation.h"

#include <utility>

#include "pipeline/telemetry/interrupt.h"
#include "stages/system/named_thread.h"

namespace flowtrain {

void OverlappedValidation::start(NetCopy& net, std::uint64_t iteration) {
  over_ = false;
  thread_ = named_thread("ft-validation", [this, &net, iteration] {
    const auto goes_on = [this] { return !given_up_ && !(interrupt_ && interrupt_->requested()); };
    try {
      found_ = validate_sets(sets_, net, iteration, goes_on, solo_group(), on_error_);
    } catch (...) {
      error_ = std::current_exception();
    }
    over_ = true;
  });
}

// A batch that comes from a server which is away would be waited for.
void OverlappedValidation::give_up() {
  if (!under_way()) return;
  given_up_ = true;
  for (auto& set : sets_) set.line.cancel_reads();
}

Validated OverlappedValidation::finish() {
  thread_.join();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return std::exchange(found_, {});
}

}  // namespace flowtrain
