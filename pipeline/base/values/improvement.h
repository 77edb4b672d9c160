#pragma once
// Decides whether a metric of validation is better than the best so far.

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
  double min_delta = 0;   ///< least difference of a better value
  bool relative = false;  ///< min_delta is a share of the best value's magnitude

  /// Replaces `best`, a value of the same metric, by the metric's value if that is better. Returns false if it is not
  /// better, not finite, or missing.
  bool record(std::optional<BestValue>& best, const Scalars& scalars) const;
};

}  // namespace flowtrain
