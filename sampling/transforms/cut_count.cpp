#include "sampling/transforms/cut_count.h"

#include <utility>

#include "sampling/core/text.h"
#include "sampling/core/warning.h"

namespace flowtrain {

CutCount::CutCount(const Settings& settings, std::string what, std::string hint, const char* choice)
    : place_(settings.place_of("max")),
      what_(std::move(what)),
      hint_(std::move(hint)),
      wanted_(choice && settings.given(choice)) {}

void CutCount::add() const {
  const std::uint64_t number = count_->fetch_add(1, std::memory_order_relaxed) + 1;
  if (number == 1 && !wanted_) warn(concat(place_, what_, " are cut; ", hint_));
  for (std::uint64_t round = 10; round <= number; round *= 10)
    if (number == round) warn(concat(place_, what_, " were cut ", number, " times"));
}

}  // namespace flowtrain
