#pragma once
// When a metric of validation counts as better than the best before it.

#include <optional>
#include <string>

#include "stages/compute.h"

namespace flowtrain {

class Config;
class Settings;

struct Improvement {
  std::string metric;       ///< the metric's name
  double min_delta = 0;     ///< by which it must be better
  bool relative = false;    ///< min_delta is a share of the best metric's magnitude
  bool lower_wins = false;  ///< the lower metric is better

  /// Keys `metric`, `mode`, `min_delta` and `relative` of `table`; an empty metric is the ruling one.
  static Improvement from(const Settings& table, const Config& config);
  /// Takes over the metric where it is better; false where it is not, not finite, or missing.
  bool enter(std::optional<double>& best, const Scalars& scalars) const;
};

}  // namespace flowtrain
