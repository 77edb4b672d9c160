#pragma once
// The best validations of a run, by the rules that the run itself wrote down. No plugin is opened for their directions.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace flowtrain {

/// The least and the greatest value of a metric, and the iterations where it had them first.
struct Extremes {
  double least = 0, greatest = 0;
  std::uint64_t least_at = 0, greatest_at = 0;
};

/// Extremes of the values of validations, by metric.
using MetricExtremes = std::map<std::string, Extremes>;

/// Enters a value; one that is not finite is passed over.
void enter_value(MetricExtremes& extremes, const std::string& name, std::uint64_t iteration, double value);

/// Whether a lower value of a metric of validation is better, as graph.json says (`metrics`). Of a metric that is not
/// there, a lower loss is, and a higher value of all others.
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

/// By each rule that keeps snapshots, "best" first: what result.json says, where it is of this end of the run; until
/// then the best of `extremes` by the rules of graph.json. `graph`, `result`: these files, or null; `iteration`: the
/// last one in metrics.jsonl.
std::vector<BestMetric> best_values(const nlohmann::ordered_json& graph, const nlohmann::ordered_json& result,
                                    const MetricExtremes& extremes, std::uint64_t iteration);

}  // namespace flowtrain
