#pragma once
// Which snapshots are kept for what validation made of them: [[best]].

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
  double value;  ///< of the metric
  bool operator==(const Ranked&) const = default;
};

/// Validations in order of a metric, best first.
struct Ranking {
  RuledMetric of;
  std::vector<Ranked> entries;
  bool operator==(const Ranking&) const = default;
};

/// By the rule's link.
using Rankings = std::map<std::string, Ranking>;

struct BestRule {
  RuledMetric of;
  std::size_t keep = 1;  ///< snapshots; the first one is kept in any case
  std::string link =
      "best";  ///< snapshots/<link> leads to the first one: "best" for the first rule, "best-<metric>" for others

  /// Enters a validation's metrics, but for one that is not finite. Returns their rank among those to keep, 0 where
  /// they are the best so far; nothing where they are not among them.
  std::optional<std::size_t> record(Rankings& rankings, std::uint64_t iteration, const Scalars& scalars) const;
  /// The first one; null before the first validation.
  const Ranked* best(const Rankings& rankings) const;

  /// All of [[best]]; where there are none, the first of val.metrics with snapshot.keep_best.
  static std::vector<BestRule> all(const Config& config);
  /// One rule: the least loss is the best.
  static std::vector<BestRule> by_loss();
};

/// Empties the rankings of other metrics than the rules' (a resumed run may have other rules). Returns a line about
/// each.
std::vector<std::string> forget_other_metrics(const std::vector<BestRule>& rules, Rankings& rankings);

/// Iterations whose snapshots the rules keep.
std::vector<std::uint64_t> kept_by(const std::vector<BestRule>& rules, const Rankings& rankings);

}  // namespace flowtrain
