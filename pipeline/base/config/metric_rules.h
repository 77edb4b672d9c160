#pragma once
// What the rules that compare validations go by: [early_stop], [[best]], plateau schedules.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/base/config/config.h"
#include "stages/model/validator.h"

namespace flowtrain {

/// What the names of training's own values begin with: "train.loss" is the mean loss of the epoch's batches so far.
inline constexpr std::string_view of_training = "train.";

/// A metric that rules compare, and its direction.
struct RuledMetric {
  std::string name;         ///< as validation reports it ("loss", "night.f1.cat"), or "train.loss"
  bool lower_wins = false;  ///< a lower value is better
  bool operator==(const RuledMetric&) const = default;
};

/// "loss (lower is better)".
std::string describe(const RuledMetric& metric);

/// The value of this name; nothing where it is missing or not finite.
std::optional<double> finite_value(const Scalars& scalars, const std::string& name);

/// The first of val.metrics that is one number, else the loss.
RuledMetric ruling_metric(const Config& config);

/// The loss, val.metrics and those of [[metric]], each with its direction.
std::vector<RuledMetric> validation_metrics(const Config& config);

/// What the keys `metric` and `mode` of `rule` say: a metric, or "-" and a metric of which the lower one is better; an
/// empty metric is the ruling one. Throws UserError(usage) where the two keys disagree.
RuledMetric ruled_metric(const Settings& rule, const Config& config);

/// The metric alone, as it is named in `rule`'s key `metric`.
std::string named_metric(const Settings& rule);

/// Whether a metric (of val.metrics, or loss) is one number, by which two validations can be compared.
bool is_single_number(const std::string& metric, const Config& config);

}  // namespace flowtrain
