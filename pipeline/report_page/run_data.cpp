#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "pipeline/report_page/best_values.h"
#include "pipeline/report_page/pictures.h"
#include "pipeline/report_page/report_page.h"
#include "pipeline/report_page/run_metrics.h"
#include "pipeline/report_page/run_records.h"
#include "pipeline/report_page/stored_config.h"
#include "pipeline/run_reader/run_summary.h"
#include "stages/system/wall_time.h"

namespace flowtrain {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

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
  for (const char* name :
       {"train.log", "metrics.jsonl", "config.toml", "result.json", "env.json", "bad_samples.jsonl", "confusion.csv",
        "verify.jsonl", "trace.json", "snapshots", "pictures", "tensorboard", "logs"})
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
  const auto metrics = run_metrics_of(folder / "metrics.jsonl");
  const auto config = stored_document(folder);
  const auto result = json_of_file(folder / "result.json");
  const auto link = link_to(folder, options.page_folder);
  ordered_json data{
      {"name",
       stored_value<std::string>(config, "name").value_or(fs::absolute(folder).lexically_normal().filename().string())},
      {"path", folder.string()},
      {"link", link},
      {"written_ms", static_cast<std::int64_t>(1e3 * wall_time_s())},
      {"status", status_of(run, result, metrics)},
      {"verdict", metrics.verdict},
      {"best", best_of(folder, result, config, metrics)},
      {"iterations_per_epoch", metrics.per_epoch},
      {"train", metrics.train.json()},
      {"val", metrics.val.json()},
      {"epochs", metrics.epochs.json()},
      {"extremes", extremes_of(config, metrics)},
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
