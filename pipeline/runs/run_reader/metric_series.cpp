#include "pipeline/runs/run_reader/metric_series.h"

#include <algorithm>

namespace flowtrain {
namespace {

MetricPoint joined(const MetricPoint& a, double count_a, const MetricPoint& b, double count_b) {
  const auto mean = [&](double one, double other) { return (count_a * one + count_b * other) / (count_a + count_b); };
  return {mean(a.iteration, b.iteration), mean(a.value, b.value), std::min(a.low, b.low), std::max(a.high, b.high)};
}

}  // namespace

void MetricSeries::add(double iteration, double value) {
  const MetricPoint point{iteration, value, value, value};
  if (!points_.empty() && in_last_ < per_point_) {
    points_.back() = joined(points_.back(), static_cast<double>(in_last_), point, 1);
    ++in_last_;
    return;
  }
  if (points_.size() == most_points) {  // here, all points are full
    for (std::size_t i = 0; i < most_points / 2; ++i) points_[i] = joined(points_[2 * i], 1, points_[2 * i + 1], 1);
    points_.resize(most_points / 2);
    per_point_ *= 2;
  }
  points_.push_back(point);
  in_last_ = 1;
}

}  // namespace flowtrain
