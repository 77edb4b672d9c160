#pragma once
// A metric by which validations are compared, and its value in a validation's results.

#include <optional>
#include <string>
#include <string_view>

#include "stages/model/validator.h"

namespace flowtrain {

/// The prefix of training's own values: "train.loss" is the mean loss of the epoch's batches so far.
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

}  // namespace flowtrain
