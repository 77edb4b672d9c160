#include "pipeline/report_page/best_values.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nets/entries.h"
#include "pipeline/snapshot/snapshot_files.h"
#include "sampling/core/text.h"
#include "stages/evaluation/metric_names.h"

namespace flowtrain {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// Which metrics there are, and in which direction they improve, by their names alone.
class MetricDirections {
 public:
  explicit MetricDirections(const std::optional<Document>& config) {
    metrics_ = stored_value<std::vector<std::string>>(config, "val.metrics").value_or(std::vector<std::string>{});
    for (std::size_t i = 0;; ++i) {
      const auto name = stored_value<std::string>(config, concat("metric.", i, ".name"));
      if (!name) break;
      const auto label = stored_value<std::string>(config, concat("metric.", i, ".label"));
      entries_[label && !label->empty() ? *label : *name] = *name;
    }
  }

  const std::vector<std::string>& metrics() const { return metrics_; }

  bool lower_wins(const std::string& scalar) const {
    auto metric = metric_of(scalar, metrics_);
    if (metric.empty()) metric = scalar;
    if (metric == "loss") return true;
    const auto own = entries_.find(metric);
    const auto* entry = nets::find_metric(own == entries_.end() ? metric : own->second);
    return entry && entry->traits.lower_is_better;
  }

 private:
  std::vector<std::string> metrics_;
  std::map<std::string, std::string> entries_;  // of [[metric]], by label
};

// The rules by which snapshots are kept ([[best]], or the first of val.metrics that is one number), as links and
// metrics; a rule's own direction as far as it states one.
struct Rule {
  std::string link, metric;
  bool lower_wins;
};

std::vector<Rule> rules_of(const std::optional<Document>& config, const MetricDirections& directions,
                           const RunMetrics& metrics) {
  std::string ruling = "loss";
  for (auto& metric : directions.metrics())
    if (ruling == "loss" && metrics.extremes.contains(metric)) ruling = metric;
  std::vector<Rule> rules;
  const auto add = [&](std::string metric, const std::string& mode) {
    if (metric.empty()) metric = ruling;
    const bool minus = metric.starts_with('-');
    if (minus) metric.erase(0, 1);
    const bool lower = minus || mode == "min" || (mode != "max" && directions.lower_wins(metric));
    rules.push_back({rules.empty() ? "best" : "best-" + metric, metric, lower});
  };
  for (std::size_t i = 0;; ++i) {
    const auto prefix = concat("best.", i, ".");
    const auto metric = stored_value<std::string>(config, prefix + "metric");
    if (!metric) break;
    add(*metric, stored_value<std::string>(config, prefix + "mode").value_or("auto"));
  }
  if (rules.empty()) add(ruling, "auto");
  return rules;
}

// Where the snapshot of the best iteration is: where the link leads, or by its name.
ordered_json snapshot_of(const fs::path& run, const std::string& link, std::uint64_t iteration) {
  const auto name = snapshot_name(iteration);
  std::error_code error;
  if (fs::read_symlink(run / "snapshots" / link, error).filename() == name) return "snapshots/" + link;
  if (fs::exists(run / "snapshots" / name, error)) return "snapshots/" + name;
  return nullptr;
}

}  // namespace

ordered_json best_of(const fs::path& run, const ordered_json& result, const std::optional<Document>& config,
                     const RunMetrics& metrics) {
  ordered_json all = ordered_json::array();
  for (auto& [link, metric, lower] : rules_of(config, MetricDirections(config), metrics)) {
    ordered_json best{{"metric", metric}, {"lower_wins", lower}};
    const bool is_known = result.is_object() && result.contains(link) && result[link].is_object();
    const auto known = is_known ? result[link] : ordered_json::object();
    const auto seen = metrics.extremes.find(metric);
    if (seen != metrics.extremes.end()) {
      best["value"] = lower ? seen->second.least : seen->second.greatest;
      best["iter"] = static_cast<std::uint64_t>(lower ? seen->second.least_at : seen->second.greatest_at);
    } else if (known.value("metric", "") == metric && known.contains("value") && known.contains("iteration")) {
      best["value"] = known["value"];
      best["iter"] = known["iteration"];
    } else {
      continue;
    }
    if (best["iter"].is_number_unsigned()) best["snapshot"] = snapshot_of(run, link, best["iter"].get<std::uint64_t>());
    all.push_back(std::move(best));
  }
  return all;
}

ordered_json extremes_of(const std::optional<Document>& config, const RunMetrics& metrics) {
  const MetricDirections directions(config);
  ordered_json all = ordered_json::object();
  for (auto& [name, of] : metrics.extremes) {
    const bool lower = directions.lower_wins(name);
    all[name] = {{"lower_wins", lower},
                 {"best", lower ? of.least : of.greatest},
                 {"iter", lower ? of.least_at : of.greatest_at}};
  }
  return all;
}

}  // namespace flowtrain
