#pragma once
// Keeps the values of a metric over a run in bounded memory.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace flowtrain {

/// A value, or the mean of several neighbours with their least and greatest value.
struct MetricPoint {
  double iteration, value;
  double low, high;
};

/// The points of a metric, in the order of iterations. Too many points are merged with neighbours so that spikes stay.
class MetricSeries {
 public:
  static constexpr std::size_t most_points = 8192;

  void add(double iteration, double value);
  /// Returns the points; there is at least one after the first add().
  const std::vector<MetricPoint>& points() const { return points_; }

 private:
  std::vector<MetricPoint> points_;
  std::uint64_t per_point_ = 1, in_last_ = 0;
};

}  // namespace flowtrain
