#include "stages/bad_samples.h"

#include <algorithm>

namespace flowtrain {

void BadSamples::account(const Slab& slab) {
  if (slab.bad().empty()) return;
  auto found = slab.bad();
  std::stable_sort(found.begin(), found.end(), [](auto& a, auto& b) { return a.position < b.position; });
  for (auto& bad : found) {
    if (!ids_.insert(bad.id).second) continue;
    const std::string what = "bad sample " + std::to_string(bad.id) + " (" + dataset_.describe(bad.id) + ") at iteration " +
                             std::to_string(slab.ticket().iteration) + ": " + bad.reason;
    if (ids_.size() <= budget_) {
      report_(what + "; record " + std::to_string(bad.substitute) + " takes its place");
      continue;
    }
    if (budget_ == 0)
      throw UserError(Exit::data, what, "mend or remove it, or let a few be replaced: data.bad = \"skip\"");
    throw UserError(Exit::data, what + "; that is more than data.max_bad = " + std::to_string(budget_) + " allows",
                    "mend the data set, or raise data.max_bad");
  }
}

}  // namespace flowtrain
