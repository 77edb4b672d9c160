#include "pipeline/base/values/ruled_metric.h"

#include <algorithm>
#include <cmath>

namespace flowtrain {

std::string describe(const RuledMetric& metric) {
  return metric.name + (metric.lower_wins ? " (lower is better)" : " (higher is better)");
}

std::optional<double> finite_value(const Scalars& scalars, const std::string& name) {
  const auto found = std::ranges::find(scalars, name, &Scalars::value_type::first);
  if (found == scalars.end() || !std::isfinite(found->second)) return {};
  return found->second;
}

}  // namespace flowtrain
