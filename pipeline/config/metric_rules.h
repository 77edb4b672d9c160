#pragma once
// What the rules that compare validations go by: [early_stop], [[best]], plateau schedules.

#include <string>

#include "pipeline/config/config.h"

namespace flowtrain {

/// A figure of validation, and what is better.
struct RuledFigure {
  std::string name;         ///< as validation tells it: "loss", "night.f1.cat"
  bool lower_wins = false;  ///< the lower one is better
};

/// The first of val.metrics that is one number, else the loss.
RuledFigure ruling_figure(const Config& config);

/// What the keys `metric` and `mode` of `rule` say: a figure, or "-" and a figure of which the lower one is better; an
/// empty metric is the ruling one. Throws UserError(usage) where the two keys disagree.
RuledFigure ruled_figure(const Settings& rule, const Config& config);

/// The figure alone, as it is named in `rule`'s key `metric`.
std::string figure_of(const Settings& rule);

/// Whether a metric (of val.metrics, or loss) is one number, by which two validations can be compared.
bool is_single_number(const std::string& metric, const Config& config);

}  // namespace flowtrain
