#include "pipeline/base/values/improvement.h"

#include <cmath>

namespace flowtrain {

bool Improvement::record(std::optional<BestValue>& best, const Scalars& scalars) const {
  const auto value = finite_value(scalars, of.name);
  if (!value) return false;
  const double margin = best ? min_delta * (relative ? std::abs(best->value) : 1) : 0;
  if (best && !(of.lower_wins ? *value < best->value - margin : *value > best->value + margin)) return false;
  best = {of, *value};
  return true;
}

}  // namespace flowtrain
