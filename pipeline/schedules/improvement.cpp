#include "pipeline/schedules/improvement.h"

#include <algorithm>
#include <cmath>

#include "pipeline/config/metric_rules.h"

namespace flowtrain {

Improvement Improvement::from(const Settings& table, const Config& config) {
  const auto [metric, lower_wins] = ruled_metric(table, config);
  return {metric, table.real("min_delta"), table.boolean("relative"), lower_wins};
}

bool Improvement::enter(std::optional<double>& best, const Scalars& scalars) const {
  const auto found = std::find_if(scalars.begin(), scalars.end(), [&](auto& scalar) { return scalar.first == metric; });
  if (found == scalars.end() || !std::isfinite(found->second)) return false;
  const double value = found->second, margin = best ? min_delta * (relative ? std::abs(*best) : 1) : 0;
  if (best && !(lower_wins ? value < *best - margin : value > *best + margin)) return false;
  best = value;
  return true;
}

}  // namespace flowtrain
