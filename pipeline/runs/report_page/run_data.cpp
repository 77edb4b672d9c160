#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "pipeline/base/config/run_file.h"
#include "pipeline/base/config/run_folder.h"
#include "pipeline/base/snapshot/snapshot_files.h"
#include "pipeline/base/telemetry/json_file.h"
#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/base/telemetry/secrets_in_json.h"
#include "pipeline/runs/report_page/pictures.h"
#include "pipeline/runs/report_page/report_page.h"
#include "pipeline/runs/report_page/run_metrics.h"
#include "pipeline/runs/report_page/run_records.h"
#include "pipeline/runs/run_reader/best_values.h"
#include "pipeline/runs/run_reader/run_status.h"
#include "pipeline/runs/run_reader/stored_config.h"
#include "sampling/core/text.h"
#include "stages/system/wall_time.h"

namespace flowtrain {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

RunOutcome outcome_now(const ReportedRun& run, const RunMetrics& metrics) {
  if (!run.error.empty()) return {RunStatus::failed, run.error};
  const auto end = number_in<std::uint64_t>(metrics.end, "iter");
  const bool ended = end && *end >= metrics.last_iteration;
  switch (run.state) {
    case ReportedRun::State::running: return {RunStatus::running};
    case ReportedRun::State::over: return outcome_of(run.folder, metrics.last_iteration, ended);
    case ReportedRun::State::unknown: break;
  }
  return status_of(run.folder, metrics.last_iteration, ended);
}

ordered_json status_json(const ReportedRun& run, const RunMetrics& metrics) {
  const auto outcome = outcome_now(run, metrics);
  ordered_json status{{"state", status_name(outcome.status)}, {"iter", metrics.last_iteration}};
  if (outcome.why) status["why"] = *outcome.why;
  if (outcome.seconds) status["seconds"] = *outcome.seconds;
  return status;
}

// Returns the snapshot of the best iteration: the target of the link, or the folder with its name.
ordered_json snapshot_of(const fs::path& run, const BestMetric& best) {
  const auto name = snapshot_name(best.iteration);
  std::error_code error;
  if (fs::read_symlink(run / "snapshots" / best.link, error).filename() == name) return "snapshots/" + best.link;
  if (fs::exists(run / "snapshots" / name, error)) return "snapshots/" + name;
  return nullptr;
}

// Returns the best value by each rule that keeps snapshots; `snapshot` is null if it was deleted.
ordered_json best_json(const fs::path& run, const std::vector<BestMetric>& values) {
  ordered_json all = ordered_json::array();
  for (auto& best : values)
    all.push_back({{"metric", best.metric},
                   {"value", best.value},
                   {"iter", best.iteration},
                   {"snapshot", snapshot_of(run, best)}});
  return all;
}

// Returns the best value of each metric of validation.
ordered_json extremes_json(const ordered_json& graph, const MetricExtremes& extremes) {
  const MetricDirections directions(graph);
  ordered_json all = ordered_json::object();
  for (auto& [name, of] : extremes) {
    const bool lower = directions.lower_wins(name);
    all[name] = {{"lower_wins", lower},
                 {"best", lower ? of.least : of.greatest},
                 {"iter", lower ? of.least_at : of.greatest_at}};
  }
  return all;
}

ordered_json warnings_of(const ReportedRun& run) {
  LogWarnings own(run.folder / "train.log");
  auto& warnings = run.warnings ? *run.warnings : own;
  warnings.update();
  return warnings.json();
}

ordered_json events_of(const RunMetrics& metrics) {
  std::vector<ordered_json> all;
  for (auto& [kind, events] : metrics.events) {
    for (auto& event : events.kept) {
      ordered_json kept{{"kind", kind}, {"iter", event["iter"]}};
      for (const char* member : {"recovery", "from", "to"})
        if (event.contains(member)) kept[member] = event[member];
      all.push_back(std::move(kept));
    }
  }
  std::stable_sort(all.begin(), all.end(), [](auto& a, auto& b) { return a["iter"] < b["iter"]; });
  return all;
}

// Returns the files that the page links to.
ordered_json files_of(const fs::path& run) {
  ordered_json files = ordered_json::array();
  std::error_code error;
  for (auto& file : run_files)
    if (file.is_linked && fs::exists(run / file.name, error)) files.push_back(file.name);
  return files;
}

// Returns the folder's path relative to the page, with a slash at its end; "" for the page's own folder.
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
  const auto graph = json_of_file(folder / "graph.json");
  const auto best = best_values(graph, json_of_file(folder / "result.json"), metrics.extremes, metrics.last_iteration);
  const auto link = link_to(folder, options.page_folder);
  ordered_json data{{"name", stored_value<std::string>(config, "name").value_or(run_name(folder))},
                    {"path", folder.string()},
                    {"link", link},
                    {"written_ms", static_cast<std::int64_t>(1e3 * wall_time_s())},
                    {"status", status_json(run, metrics)},
                    {"verdict", metrics.verdict},
                    {"best", best_json(folder, best)},
                    {"iterations_per_epoch", metrics.per_epoch},
                    {"train", metrics.train.json()},
                    {"val", metrics.val.json()},
                    {"epochs", metrics.epochs.json()},
                    {"extremes", extremes_json(graph, metrics.extremes)},
                    {"texts", metrics.texts},
                    {"events", events_of(metrics)},
                    {"end", metrics.end},
                    {"samples", metrics.samples},
                    {"graph", drawable_graph(graph)},
                    {"pictures", pictures_of(folder, link, options.picture_bytes)},
                    {"confusion", confusion_of(folder / "confusion.csv")},
                    {"bad_samples", bad_samples_of(folder / "bad_samples.jsonl")},
                    {"warnings", warnings_of(run)},
                    {"environment", environment_of(folder / "env.json")},
                    {"config", text_of_file(folder / "config.toml")},
                    {"files", files_of(folder)}};
  if (graph.is_object() && graph.contains("iterations_per_epoch") && graph["iterations_per_epoch"].is_number())
    data["iterations_per_epoch"] = graph["iterations_per_epoch"];
  mask_secrets(data);
  return json_text(data);
}

}  // namespace flowtrain
