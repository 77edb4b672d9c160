#pragma once
// Ranks snapshots by the metrics of validations: [[best]].

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/base/config/metric_rules.h"

namespace flowtrain {

/// A validation's place in a ranking.
struct Ranked {
  std::uint64_t iteration;
  double value;  ///< The value of the metric.
  bool operator==(const Ranked&) const = default;
};

/// The validations in the order of a metric, the best first.
struct Ranking {
  RuledMetric of;
  std::vector<Ranked> entries;
  bool operator==(const Ranking&) const = default;
};

/// The rankings by their rules' links.
using Rankings = std::map<std::string, Ranking>;

/// A rule of [[best]].
struct BestRule {
  RuledMetric of;
  std::size_t keep = 1;  ///< The number of snapshots to keep; the first one is always kept.
  /// snapshots/<link> leads to the best one: "best" for the first rule, "best-<metric>" for others.
  std::string link = "best";

  /// Adds a validation's metrics, if the ruling one is finite. Returns their rank among those to keep, which is 0 for
  /// the best so far; nothing if they are not kept.
  std::optional<std::size_t> record(Rankings& rankings, std::uint64_t iteration, const Scalars& scalars) const;
  /// Returns the best one; null before the first validation.
  const Ranked* best(const Rankings& rankings) const;

  /// Returns the rules of [[best]], or, without any, one for the first of val.metrics with snapshot.keep_best.
  static std::vector<BestRule> all(const Config& config);
  /// Returns one rule: the lowest loss is the best.
  static std::vector<BestRule> by_loss();
};

/// Empties the rankings of other metrics than the rules' (a resumed run may have other rules). Returns a line about
/// each.
std::vector<std::string> forget_other_metrics(const std::vector<BestRule>& rules, Rankings& rankings);

/// Returns the iterations whose snapshots the rules keep.
std::vector<std::uint64_t> kept_by(const std::vector<BestRule>& rules, const Rankings& rankings);

}  // namespace flowtrain
