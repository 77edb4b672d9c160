#include "sampling/transforms/counted_warning.h"

#include <utility>

#include "sampling/core/text.h"
#include "sampling/core/warning.h"

namespace flowtrain {

CountedWarning::CountedWarning(std::string first, std::string later)
    : first_(std::move(first)), later_(std::move(later)) {}

void CountedWarning::add() const {
  const std::uint64_t number = count_->fetch_add(1, std::memory_order_relaxed) + 1;
  if (number == 1 && !first_.empty()) warn(first_);
  for (std::uint64_t round = 10; round <= number; round *= 10)
    if (number == round) warn(concat(later_, ' ', number, " times"));
}

CountedWarning cut_warning(const Settings& settings, const std::string& what, const std::string& hint,
                           const char* choice) {
  const bool is_wanted = choice && settings.given(choice);
  const std::string named = settings.place_of("max") + what;
  return {is_wanted ? "" : concat(named, " are cut; ", hint), named + " were cut"};
}

}  // namespace flowtrain
