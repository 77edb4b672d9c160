#include "pipeline/train/epoch_means.h"

#include <cmath>

namespace flowtrain {

void EpochMeans::add(const std::string& name, double value) {
  if (!std::isfinite(value)) return;
  auto& [sum, count] = sums_[name];
  sum += value;
  ++count;
}

void EpochMeans::add(const Figures& figures) {
  for (auto& [name, value] : figures)
    if (!name.starts_with("lr.")) add(name, value);
}

Figures EpochMeans::take() {
  Figures means;
  for (auto& [name, figure] : sums_) means.emplace_back(name, figure.sum / static_cast<double>(figure.count));
  sums_.clear();
  return means;
}

}  // namespace flowtrain
