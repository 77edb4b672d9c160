#pragma once
// The metrics of the rules that compare validations: [early_stop], [[best]], plateau schedules.

#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "pipeline/base/values/improvement.h"

namespace flowtrain {

/// Returns the first of val.metrics that is one number, else the loss.
RuledMetric ruling_metric(const Config& config);

/// Returns the loss, val.metrics and the metrics of [[metric]], each with its direction.
std::vector<RuledMetric> validation_metrics(const Config& config);

/// Reads the keys `metric` and `mode` of `rule`: a metric, or "-" and a metric of which the lower value is better; an
/// empty metric is the ruling one. Throws UserError(usage) if the two keys disagree.
RuledMetric ruled_metric(const Settings& rule, const Config& config);

/// Reads the keys `metric`, `mode`, `min_delta` and `relative` of `rule`.
Improvement improvement_of(const Settings& rule, const Config& config);

/// Returns the metric alone that the key `metric` of `rule` names.
std::string named_metric(const Settings& rule);

/// Returns whether a metric (of val.metrics, or loss) is one number, by which two validations can be compared.
bool is_single_number(const std::string& metric, const Config& config);

}  // namespace flowtrain
