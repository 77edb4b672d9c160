#pragma once
// Metrics of nets that give each row, pixel or position one of K classes: `logits` (B, K, …) against `label` (B, …).

#include "nets/metrics/metric.h"

namespace flowtrain::nets {

/// accuracy, topN, perplexity, and what is made of the counts of each class. A mean over classes is one over those that
/// have a label or a prediction (balanced_accuracy: a label); where there is nothing to divide by, 0 is taken. Null for
/// other names.
std::unique_ptr<Metric> make_class_metric(const std::string& name, std::int64_t classes);
std::vector<std::string> class_metric_names();

}  // namespace flowtrain::nets
