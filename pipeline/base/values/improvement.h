#pragma once
// When a metric of validation counts as better than the best before it.

#include <optional>

#include "pipeline/base/values/ruled_metric.h"
#include "stages/model/validator.h"

namespace flowtrain {

/// The best value so far, and the metric that it is a value of.
struct BestValue {
  RuledMetric of;
  double value = 0;
};

struct Improvement {
  RuledMetric of;         ///< the metric that is compared
  double min_delta = 0;   ///< by which a value must be better
  bool relative = false;  ///< min_delta is a share of the best value's magnitude

  /// Replaces `best`, a value of the same metric, by the metric's value where that is better. False where it is not
  /// better, not finite, or missing.
  bool record(std::optional<BestValue>& best, const Scalars& scalars) const;
};

}  // namespace flowtrain
