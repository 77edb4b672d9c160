#pragma once
// What the kinds of schedules share.

#include <cmath>
#include <functional>
#include <numbers>

#include "pipeline/schedules/schedule.h"

namespace flowtrain {

/// `value` times a function of the place.
class Factor final : public Schedule {
 public:
  using Shape = std::function<double(double at)>;
  explicit Factor(Shape shape, double reach = 0) : shape_(std::move(shape)), reach_(reach) {}
  double apply(double value, double at) const override { return value * shape_(at); }
  double reach() const override { return reach_; }

 private:
  Shape shape_;
  double reach_;
};

/// Divided once at each of some places.
class Divided final : public Schedule {
 public:
  using Count = std::function<double(double at)>;
  Divided(double by, Count count, double reach = 0) : by_(by), count_(std::move(count)), reach_(reach) {}
  double apply(double value, double at) const override { return value / std::pow(by_, count_(at)); }
  double reach() const override { return reach_; }

 private:
  double by_;
  Count count_;
  double reach_;
};

/// From 1 to `end` along a shape that goes from 0 to 1.
inline double between(double end, double shape) { return 1 + (end - 1) * shape; }
inline double half_cosine(double share) { return (1 - std::cos(std::numbers::pi * share)) / 2; }

inline Key decay_rate_key() { return {"decay_rate", Kind::real, 10.0, "what each decay divides by", 1e-6, 1e6}; }
inline Key min_factor_key() {
  return {"min_factor", Kind::real, 0.0, "the least it becomes, as a share of where it began", 0, 1e6};
}

}  // namespace flowtrain
