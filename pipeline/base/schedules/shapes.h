#pragma once
// Shared parts of the kinds of schedules.

#include <cmath>
#include <functional>
#include <numbers>

#include "pipeline/base/schedules/schedule.h"

namespace flowtrain {

/// A function of the value without this schedule and of the place.
class Formula final : public Schedule {
 public:
  using Function = std::function<double(double value, double at)>;
  explicit Formula(Function function, double reach = 0) : function_(std::move(function)), reach_(reach) {}
  double apply(double value, double at) const override { return function_(value, at); }
  double reach() const override { return reach_; }

 private:
  Function function_;
  double reach_;
};

/// Goes from 1 to `end` along a shape that goes from 0 to 1.
inline double between(double end, double shape) { return 1 + (end - 1) * shape; }
inline double half_cosine(double share) { return (1 - std::cos(std::numbers::pi * share)) / 2; }

inline Key decay_rate_key() { return {"decay_rate", Kind::real, 10.0, "divisor of each decay", 1e-6, 1e6}; }
inline Key min_factor_key() {
  return {"min_factor", Kind::real, 0.0, "least value, as a share of the first one", 0, 1e6};
}

}  // namespace flowtrain
