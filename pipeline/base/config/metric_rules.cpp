#include "pipeline/base/config/metric_rules.h"

#include <algorithm>

#include "nets/entries.h"
#include "pipeline/base/values/periods.h"
#include "stages/evaluation/metric_names.h"

namespace flowtrain {
namespace {

// Returns null for the loss and for metrics of boxes, of which higher values are better.
const nets::MetricEntry* entry_of(const std::string& metric, const Config& config) {
  for (auto& own : config.list("metric"))
    if (label_of(own) == metric) return nets::find_metric(own.text("name"));
  return nets::find_metric(metric);
}

bool lower_is_better(const std::string& name, const Config& config) {
  const auto own = std::string_view(name).substr(name.starts_with(of_training) ? of_training.size() : 0);
  const std::string metric = metric_of(own, *config.val().metrics);
  const auto* entry = entry_of(metric.empty() ? std::string(own) : metric, config);
  return metric == "loss" || (entry && entry->traits.lower_is_better);
}

}  // namespace

bool is_single_number(const std::string& metric, const Config& config) {
  const auto* entry = entry_of(metric, config);
  return !entry || entry->traits.single;
}

RuledMetric ruling_metric(const Config& config) {
  const auto& metrics = *config.val().metrics;
  const auto ruling =
      std::find_if(metrics.begin(), metrics.end(), [&](auto& metric) { return is_single_number(metric, config); });
  const std::string name = ruling == metrics.end() ? "loss" : *ruling;
  return {name, lower_is_better(name, config)};
}

std::vector<RuledMetric> validation_metrics(const Config& config) {
  std::vector<RuledMetric> all{{"loss", true}};
  for (auto& name : *config.val().metrics) all.push_back({name, lower_is_better(name, config)});
  for (auto& own : config.list("metric")) all.push_back({label_of(own), lower_is_better(label_of(own), config)});
  return all;
}

std::string named_metric(const Settings& rule) {
  const std::string& metric = rule.text("metric");
  return metric.starts_with('-') ? metric.substr(1) : metric;
}

RuledMetric ruled_metric(const Settings& rule, const Config& config) {
  const std::string &written = rule.text("metric"), mode = rule.has("mode") ? rule.text("mode") : "auto";
  if (written == "-") throw rule.error("metric", "expected the name of a metric after '-'");
  RuledMetric ruled = written.empty() ? ruling_metric(config) : RuledMetric{named_metric(rule)};
  if (written.starts_with('-') && mode == "max")
    throw rule.error(
        "mode", "\"max\" says that higher is better, and metric = " + to_toml(rule.value("metric")) + " that lower is",
        ExitCode::usage, "keep one of the two");
  ruled.lower_wins = written.starts_with('-') || (mode == "auto" ? lower_is_better(ruled.name, config) : mode == "min");
  return ruled;
}

Improvement improvement_of(const Settings& rule, const Config& config) {
  return {ruled_metric(rule, config), rule.real("min_delta"), rule.boolean("relative")};
}

}  // namespace flowtrain
