#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "nets/entries.h"
#include "pipeline/report_page/differences.h"
#include "pipeline/report_page/pictures.h"
#include "pipeline/report_page/report_page.h"
#include "pipeline/report_page/run_metrics.h"
#include "pipeline/report_page/run_records.h"
#include "pipeline/snapshot/snapshot_files.h"
#include "sampling/core/text.h"
#include "stages/evaluation/metric_names.h"

namespace flowtrain {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// A value of the stored configuration, where it has this type.
template <class Type>
std::optional<Type> stored(const std::optional<Document>& config, const std::string& key) {
  if (!config) return {};
  const auto found = config->values.find(key);
  if (found == config->values.end()) return {};
  const auto* value = std::get_if<Type>(&found->second.value);
  return value ? std::optional(*value) : std::nullopt;
}

// Which metrics there are, and in which direction they improve, by their names alone.
class MetricDirections {
 public:
  explicit MetricDirections(const std::optional<Document>& config) : config_(config) {
    metrics_ = stored<std::vector<std::string>>(config, "val.metrics").value_or(std::vector<std::string>{});
    for (std::size_t i = 0;; ++i) {
      const auto name = stored<std::string>(config, concat("metric.", i, ".name"));
      if (!name) break;
      const auto label = stored<std::string>(config, concat("metric.", i, ".label"));
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
  const std::optional<Document>& config_;
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
  std::vector<Rule> rules;
  const auto add = [&](std::string metric, const std::string& mode) {
    const bool minus = metric.starts_with('-');
    if (minus) metric.erase(0, 1);
    const bool lower = minus || mode == "min" || (mode != "max" && directions.lower_wins(metric));
    rules.push_back({rules.empty() ? "best" : "best-" + metric, metric, lower});
  };
  for (std::size_t i = 0;; ++i) {
    const auto prefix = concat("best.", i, ".");
    const auto metric = stored<std::string>(config, prefix + "metric");
    if (!metric) break;
    add(*metric, stored<std::string>(config, prefix + "mode").value_or("auto"));
  }
  if (!rules.empty()) return rules;
  for (auto& metric : directions.metrics())
    if (rules.empty() && metrics.extremes.contains(metric)) add(metric, "auto");
  if (rules.empty()) add("loss", "auto");
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

ordered_json best_of(const fs::path& run, const ordered_json& result, const std::vector<Rule>& rules,
                     const RunMetrics& metrics) {
  ordered_json all = ordered_json::array();
  for (auto& [link, metric, lower] : rules) {
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

ordered_json extremes_of(const RunMetrics& metrics, const MetricDirections& directions) {
  ordered_json all = ordered_json::object();
  for (auto& [name, of] : metrics.extremes) {
    const bool lower = directions.lower_wins(name);
    all[name] = {{"lower_wins", lower},
                 {"best", lower ? of.least : of.greatest},
                 {"iter", lower ? of.least_at : of.greatest_at}};
  }
  return all;
}

// A result of an earlier start says nothing of a run that went on.
ordered_json status_of(const ReportedRun& run, const ordered_json& result, const RunMetrics& metrics) {
  const bool fits = result.is_object() && result.contains("iteration") && result["iteration"].is_number_unsigned() &&
                    result["iteration"].get<std::uint64_t>() >= metrics.last_iteration;
  ordered_json status;
  const bool runs =
      run.state == ReportedRun::State::running || (run.state == ReportedRun::State::look && is_locked(run.folder));
  if (runs)
    status["state"] = "running";
  else if (!run.error.empty() || !fits)
    status["state"] = "failed";
  else
    status["state"] = result.value("ended", "done");
  if (!run.error.empty())
    status["why"] = run.error;
  else if (fits && result.contains("why"))
    status["why"] = result["why"];
  status["iter"] = metrics.last_iteration;
  if (!runs && fits && result.contains("seconds")) status["seconds"] = result["seconds"];
  return status;
}

ordered_json events_of(const RunMetrics& metrics) {
  std::vector<ordered_json> all;
  for (auto& [kind, events] : metrics.events) {
    if (kind == "profile" || kind == "retries") continue;
    for (auto& event : events.kept) {
      ordered_json kept{{"kind", kind}, {"iter", event["iter"]}};
      for (const char* member : {"path", "recovery", "from", "to", "total_s"})
        if (event.contains(member)) kept[member] = event[member];
      all.push_back(std::move(kept));
    }
  }
  std::stable_sort(all.begin(), all.end(), [](auto& a, auto& b) { return a["iter"] < b["iter"]; });
  return all;
}

ordered_json texts_of(const RunMetrics& metrics) {
  ordered_json texts = ordered_json::object();
  for (auto& [name, counts] : metrics.texts)
    texts[name] = {{"newest", metrics.newest_texts.at(name)}, {"counts", counts}};
  return texts;
}

// Files that are worth a look beside the page.
ordered_json files_of(const fs::path& run) {
  ordered_json files = ordered_json::array();
  std::error_code error;
  for (const char* name : {"train.log", "metrics.jsonl", "config.toml", "result.json", "env.json", "bad_samples.jsonl",
                           "confusion.csv", "trace.json", "snapshots", "pictures", "tensorboard", "logs"})
    if (fs::exists(run / name, error)) files.push_back(name);
  return files;
}

// As seen from the page, with a slash at its end; "" for the page's own folder.
std::string link_to(const fs::path& folder, const fs::path& page_folder) {
  std::error_code error;
  const auto from = fs::weakly_canonical(page_folder.empty() ? fs::path(".") : page_folder, error);
  const auto to = fs::weakly_canonical(folder, error);
  const auto link = to.lexically_relative(from).generic_string();
  return link == "." || link.empty() ? "" : link + "/";
}

}  // namespace

std::string run_data(const ReportedRun& run, const ReportOptions& options) {
  const auto& folder = run.folder;
  const auto metrics = read_metrics(folder / "metrics.jsonl");
  const auto config = stored_document(folder);
  const MetricDirections directions(config);
  const auto result = json_of_file(folder / "result.json");
  const auto link = link_to(folder, options.page_folder);
  const auto written = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());  // for people alone
  ordered_json data{
      {"name",
       stored<std::string>(config, "name").value_or(fs::absolute(folder).lexically_normal().filename().string())},
      {"path", folder.string()},
      {"link", link},
      {"written_ms", written.count()},
      {"status", status_of(run, result, metrics)},
      {"verdict", metrics.verdict},
      {"best", best_of(folder, result, rules_of(config, directions, metrics), metrics)},
      {"iterations_per_epoch", metrics.per_epoch},
      {"train", metrics.train.json()},
      {"val", metrics.val.json()},
      {"epochs", metrics.epochs.json()},
      {"extremes", extremes_of(metrics, directions)},
      {"texts", texts_of(metrics)},
      {"events", events_of(metrics)},
      {"end", metrics.end},
      {"graph", json_of_file(folder / "graph.json")},
      {"pictures", pictures_of(folder, link, options.picture_bytes)},
      {"confusion", confusion_of(folder / "confusion.csv")},
      {"bad_samples", bad_samples_of(folder / "bad_samples.jsonl")},
      {"warnings", warnings_of(folder / "train.log")},
      {"environment", json_of_file(folder / "env.json")},
      {"config", text_of_file(folder / "config.toml")},
      {"files", files_of(folder)}};
  if (const auto& graph = data["graph"]; graph.is_object() && graph.contains("iterations_per_epoch"))
    data["iterations_per_epoch"] = graph["iterations_per_epoch"];
  return data.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string graph_json(const Drawing& drawing, const RunShape& shape) {
  ordered_json nodes = ordered_json::array(), edges = nodes;
  for (auto& [name, label, thread] : drawing.nodes)
    nodes.push_back({{"name", name}, {"label", label}, {"thread", thread}});
  for (auto& [from, to, label] : drawing.edges) edges.push_back({{"from", from}, {"to", to}, {"label", label}});
  const ordered_json graph{{"iterations_per_epoch", shape.iterations_per_epoch},
                           {"last_iteration", shape.last_iteration},
                           {"batch", shape.batch},
                           {"nodes", std::move(nodes)},
                           {"edges", std::move(edges)}};
  return graph.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace flowtrain
