#include "pipeline/train/epoch_means.h"

#include <cmath>

namespace flowtrain {

void EpochMeans::add(const std::string& name, double value) {
  if (!std::isfinite(value)) return;
  auto& [sum, count] = sums_[name];
  sum += value;
  ++count;
}

void EpochMeans::add(const Scalars& scalars) {
  for (auto& [name, value] : scalars)
    if (!name.starts_with("lr.")) add(name, value);
}

Scalars epoch_means(const RunState& state) {
  Scalars means;
  for (auto& [name, scalar] : state.epoch_sums)
    means.emplace_back(name, scalar.sum / static_cast<double>(scalar.count));
  return means;
}

}  // namespace flowtrain
