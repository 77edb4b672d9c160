#pragma once
// What the rules that compare validations go by: [early_stop], [[best]], plateau schedules.

#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "pipeline/base/values/improvement.h"

namespace flowtrain {

/// The first of val.metrics that is one number, else the loss.
RuledMetric ruling_metric(const Config& config);

/// The loss, val.metrics and those of [[metric]], each with its direction.
std::vector<RuledMetric> validation_metrics(const Config& config);

/// What the keys `metric` and `mode` of `rule` say: a metric, or "-" and a metric of which the lower one is better; an
/// empty metric is the ruling one. Throws UserError(usage) where the two keys disagree.
RuledMetric ruled_metric(const Settings& rule, const Config& config);

/// The keys `metric`, `mode`, `min_delta` and `relative` of `rule`.
Improvement improvement_of(const Settings& rule, const Config& config);

/// The metric alone, as it is named in `rule`'s key `metric`.
std::string named_metric(const Settings& rule);

/// Whether a metric (of val.metrics, or loss) is one number, by which two validations can be compared.
bool is_single_number(const std::string& metric, const Config& config);

}  // namespace flowtrain
