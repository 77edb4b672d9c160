#include "pipeline/runs/run_reader/best_values.h"

#include <cmath>

#include "pipeline/base/telemetry/json_file.h"
#include "pipeline/runs/run_reader/run_status.h"
#include "stages/evaluation/metric_names.h"

namespace flowtrain {

using nlohmann::ordered_json;

void enter_value(MetricExtremes& extremes, const std::string& name, std::uint64_t iteration, double value) {
  if (!std::isfinite(value)) return;
  auto& of = extremes.try_emplace(name, Extremes{value, value, iteration, iteration}).first->second;
  if (value < of.least) of.least = value, of.least_at = iteration;
  if (value > of.greatest) of.greatest = value, of.greatest_at = iteration;
}

MetricDirections::MetricDirections(const ordered_json& graph) {
  const auto& metrics = member_of(graph, "metrics");
  if (!metrics.is_object()) return;
  for (auto& [name, mode] : metrics.items()) {
    lower_wins_[name] = mode == "min";
    names_.push_back(name);
  }
}

bool MetricDirections::lower_wins(const std::string& scalar) const {
  const auto metric = metric_of(scalar, names_);
  const auto found = lower_wins_.find(metric);
  return found == lower_wins_.end() ? metric == "loss" : found->second;
}

std::vector<BestMetric> best_values(const ordered_json& graph, const ordered_json& result,
                                    const MetricExtremes& extremes, std::uint64_t iteration) {
  std::vector<BestMetric> all;
  if (is_current(result, iteration)) {
    for (auto& [link, best] : result.items()) {
      const auto metric = text_in(best, "metric");
      const auto value = number_in<double>(best, "value");
      const auto at = number_in<std::uint64_t>(best, "iteration");
      if (metric && value && at) all.push_back({link, *metric, *value, *at});
    }
    return all;
  }
  const auto& rules = member_of(graph, "best");
  if (!rules.is_object()) return all;
  for (auto& [link, rule] : rules.items()) {
    const auto metric = text_in(rule, "metric");
    const auto of = metric ? extremes.find(*metric) : extremes.end();
    if (of == extremes.end()) continue;
    const auto& [least, greatest, least_at, greatest_at] = of->second;
    const bool lower = text_in(rule, "mode") == "min";
    all.push_back({link, *metric, lower ? least : greatest, lower ? least_at : greatest_at});
  }
  return all;
}

}  // namespace flowtrain
