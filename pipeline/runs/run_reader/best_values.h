#pragma once
// Finds the best validations of a run by the rules that the run itself wrote; it opens no plugin.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace flowtrain {

/// The least and the greatest value of a metric, and the first iterations with them.
struct Extremes {
  double least = 0, greatest = 0;
  std::uint64_t least_at = 0, greatest_at = 0;
};

/// Extremes of the values of validations, by metric.
using MetricExtremes = std::map<std::string, Extremes>;

/// Adds a value; one that is not finite is skipped.
void enter_value(MetricExtremes& extremes, const std::string& name, std::uint64_t iteration, double value);

/// Knows whether a lower value of a metric of validation is better, by graph.json (`metrics`). For metrics that are not
/// there, a lower loss is better, and a higher value of all others.
class MetricDirections {
 public:
  /// `graph`: graph.json, or null.
  explicit MetricDirections(const nlohmann::ordered_json& graph);
  bool lower_wins(const std::string& scalar) const;

 private:
  std::map<std::string, bool> lower_wins_;
  std::vector<std::string> names_;
};

/// A validation that a rule calls the best.
struct BestMetric {
  std::string link;  ///< the rule's link in snapshots/: "best", "best-loss"
  std::string metric;
  double value = 0;
  std::uint64_t iteration = 0;
};

/// Returns the best validation by each rule that keeps snapshots, "best" first: from result.json if it belongs to this
/// end of the run, otherwise the best of `extremes` by the rules of graph.json. `graph`, `result`: these files, or
/// null; `iteration`: the last one in metrics.jsonl.
std::vector<BestMetric> best_values(const nlohmann::ordered_json& graph, const nlohmann::ordered_json& result,
                                    const MetricExtremes& extremes, std::uint64_t iteration);

}  // namespace flowtrain
