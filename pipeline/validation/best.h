#pragma once
// Which snapshots are kept for what validation made of them: [[best]].

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/config/config.h"
#include "stages/compute.h"

namespace flowtrain {

/// A validation's place in a ranking.
struct Ranked {
  std::uint64_t iteration;
  double value;  ///< of the metric
  bool operator==(const Ranked&) const = default;
};

/// Best first, by the rule's link.
using Rankings = std::map<std::string, std::vector<Ranked>>;

struct BestRule {
  std::string metric;
  bool lower_wins = false;
  std::size_t keep = 1;  ///< snapshots; the first one is kept in any case
  std::string link =
      "best";  ///< snapshots/<link> leads to the first one: "best" for the first rule, "best-<metric>" for others

  /// Enters a validation's metrics, but for one that is not finite. Returns their rank among those to keep, 0 where
  /// they are the best so far; nothing where they are not among them.
  std::optional<std::size_t> enter(Rankings& rankings, std::uint64_t iteration, const Scalars& scalars) const;
  /// The first one; null before the first validation.
  const Ranked* best(const Rankings& rankings) const;

  /// All of [[best]]; where there are none, the first of val.metrics with snapshot.keep_best.
  static std::vector<BestRule> all(const Config& config);
};

/// Iterations whose snapshots the rules keep.
std::vector<std::uint64_t> kept_by(const std::vector<BestRule>& rules, const Rankings& rankings);

}  // namespace flowtrain
