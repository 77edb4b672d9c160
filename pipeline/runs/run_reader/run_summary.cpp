#include "pipeline/runs/run_reader/run_summary.h"

#include <sys/stat.h>

#include <algorithm>
#include <limits>

#include "pipeline/base/telemetry/json_file.h"
#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/runs/run_reader/stored_config.h"
#include "sampling/core/parse.h"
#include "stages/system/wall_time.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// Returns the time of the last change, in seconds since 1970.
std::optional<double> time_of(const fs::path& file) {
  struct stat state {};
  if (::stat(file.c_str(), &state) != 0) return {};
  return static_cast<double>(state.st_mtim.tv_sec) + 1e-9 * static_cast<double>(state.st_mtim.tv_nsec);
}

std::uint64_t whole_number(const std::optional<Document>& config, const std::string& key) {
  const auto value = stored_value<std::int64_t>(config, key);
  return value && *value > 0 ? static_cast<std::uint64_t>(*value) : 0;
}

}  // namespace

RunSummary RunWatcher::summary() {
  read_config();
  read_metrics();
  RunSummary result;
  result.written_s = time_of(folder_ / "metrics.jsonl");
  if (result.written_s) result.age_s = std::max(0.0, wall_time_s() - *result.written_s);
  const auto line = parse_json(train_line_);
  const auto graph = json_of_file(folder_ / "graph.json");
  result.iteration = iteration_;
  result.last_iteration = last_iteration(graph);
  result.loss = number_in<double>(line, "loss");
  result.samples_per_s = number_in<double>(line, "samples_per_s");
  const auto best = best_values(graph, json_of_file(folder_ / "result.json"), extremes_, iteration_);
  if (!best.empty()) result.best = best.front();
  result.status = status_of(folder_, iteration_, end_ && *end_ >= iteration_).status;
  return result;
}

void RunWatcher::read_config() {
  const auto path = folder_ / "config.toml";
  std::error_code error;
  const auto time = fs::last_write_time(path, error);
  if (error || time == config_time_) return;
  config_time_ = time;
  const auto config = stored_document(folder_);
  max_iter_ = whole_number(config, "run.max_iter");
  max_epochs_ = whole_number(config, "run.max_epochs");
}

void RunWatcher::read_metrics() {
  for (;;) {
    const auto appended = read_appended(folder_ / "metrics.jsonl", mark_);
    mark_ = appended.next;
    if (appended.restarted) {
      train_line_.clear();
      extremes_.clear();
      iteration_ = 0;
      epochs_ = {};
      end_.reset();
    }
    if (appended.text.empty()) return;
    for_each_line(appended.text, [&](std::string_view line) { read_line(line); });
  }
}

// Most lines are of kind train, and only the newest of these is parsed, so that a list of long runs appears at once.
void RunWatcher::read_line(std::string_view text) {
  if (text.starts_with("{\"kind\":\"train\",\"iter\":")) {
    train_line_ = text;
    const auto digits = text.substr(23);
    iteration_ = parse_number<std::uint64_t>(digits.substr(0, digits.find_first_of(",}"))).value_or(iteration_);
    return;
  }
  const auto line = parse_json(text);
  const auto iteration = number_in<std::uint64_t>(line, "iter");
  const auto kind = text_in(line, "kind");
  if (!iteration) return;
  iteration_ = std::max(iteration_, *iteration);
  if (kind == "val")
    for (auto& [name, value] : line.items())
      if (value.is_number()) enter_value(extremes_, name, *iteration, value.get<double>());
  if (kind == "end") end_ = *iteration;
  if (const auto epoch = number_in<std::uint64_t>(line, "epoch"); kind == "epoch" && epoch && *epoch > 0)
    epochs_ = {*iteration, *epoch};
}

// Returns the last iteration that the run states, or without graph.json, the one of its configuration.
std::optional<std::uint64_t> RunWatcher::last_iteration(const ordered_json& graph) const {
  if (const auto last = number_in<std::uint64_t>(graph, "last_iteration"); last && *last > 0) return last;
  auto last = max_iter_ > 0 ? max_iter_ : std::numeric_limits<std::uint64_t>::max();
  if (max_epochs_ > 0 && !epochs_.off()) last = std::min(last, epochs_.iterations(max_epochs_));
  if (max_iter_ == 0 && (max_epochs_ == 0 || epochs_.off())) return {};
  return last;
}

}  // namespace flowtrain
