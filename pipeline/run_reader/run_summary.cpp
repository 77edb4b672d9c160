#include "pipeline/run_reader/run_summary.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "pipeline/config/document.h"
#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "stages/system/host_name.h"
#include "stages/system/wall_time.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A run on another machine is taken for running so long after its last line.
constexpr double silent_s = 120;

json small_json(const fs::path& path) {
  constexpr std::uintmax_t most_bytes = 1 << 20;
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > most_bytes || error) return {};
  std::ifstream file(path);
  return json::parse(file, nullptr, /*allow_exceptions=*/false);
}

template <class Number>
std::optional<Number> number(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end() || !found->is_number()) return {};
  return found->get<Number>();
}

std::string text_of(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// In seconds since 1970.
std::optional<double> time_of(const fs::path& file) {
  struct stat state {};
  if (::stat(file.c_str(), &state) != 0) return {};
  return static_cast<double>(state.st_mtim.tv_sec) + 1e-9 * static_cast<double>(state.st_mtim.tv_nsec);
}

std::uint64_t whole_number(const Document& document, const std::string& key) {
  const auto found = document.values.find(key);
  const auto* value = found == document.values.end() ? nullptr : std::get_if<std::int64_t>(&found->second.value);
  return value && *value > 0 ? static_cast<std::uint64_t>(*value) : 0;
}

}  // namespace

// From /proc/locks, so that no lock is taken, which could get in the way of a start. Its lines are
// "1: FLOCK  ADVISORY  WRITE 4711 08:01:131415 0 EOF": with the device and the inode of the file. "->": waits for one.
bool is_locked(const fs::path& folder) {
  struct stat state {};
  if (::stat((folder / "run.lock").c_str(), &state) != 0) return false;
  const auto inode = ":" + std::to_string(state.st_ino) + " ";
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);)
    if (line.find(" FLOCK ") != line.npos && line.find(" -> ") == line.npos && line.find(inode) != line.npos)
      return true;
  return false;
}

std::string_view status_name(RunStatus status) {
  constexpr std::array<std::string_view, 4> names{"running", "done", "interrupted", "failed"};
  return names[static_cast<std::size_t>(status)];
}

RunSummary RunWatcher::summary() {
  read_config();
  read_metrics();
  RunSummary result;
  result.written_s = time_of(folder_ / "metrics.jsonl");
  if (result.written_s) result.age_s = std::max(0.0, wall_time_s() - *result.written_s);
  const auto line = json::parse(train_line_, nullptr, /*allow_exceptions=*/false);
  result.iteration = iteration_;
  result.last_iteration = last_iteration();
  result.loss = number<double>(line, "loss");
  result.samples_per_s = number<double>(line, "samples_per_s");
  result.best = best();
  result.status = status(result.age_s);
  return result;
}

void RunWatcher::read_config() {
  const auto path = folder_ / "config.toml";
  std::error_code error;
  const auto time = fs::last_write_time(path, error);
  if (error || time == config_time_) return;
  config_time_ = time;
  max_iter_ = max_epochs_ = 0;
  metrics_.clear();
  try {
    const auto document = read_document(path);
    max_iter_ = whole_number(document, "run.max_iter");
    max_epochs_ = whole_number(document, "run.max_epochs");
    if (const auto found = document.values.find("best.0.metric"); found != document.values.end())
      if (const auto* name = std::get_if<std::string>(&found->second.value); name && !name->empty())
        metrics_.push_back(name->starts_with('-') ? name->substr(1) : *name);
    if (const auto found = document.values.find("val.metrics"); found != document.values.end())
      if (const auto* names = std::get_if<std::vector<std::string>>(&found->second.value))
        metrics_.insert(metrics_.end(), names->begin(), names->end());
  } catch (const UserError&) {
    // A file that is being written, or no configuration: then less is known.
  }
  metrics_.emplace_back("loss");
}

void RunWatcher::read_metrics() {
  for (;;) {
    const auto appended = read_appended(folder_ / "metrics.jsonl", mark_);
    mark_ = appended.next;
    if (appended.restarted) {
      train_line_.clear();
      val_lines_.clear();
      iteration_ = epoch_length_ = 0;
      ended_ = false;
    }
    if (appended.text.empty()) return;
    for_each_line(appended.text, [&](std::string_view line) { read_line(line); });
  }
}

// Most lines are of kind train, and only the newest of these is parsed: a list of long runs is there at once.
void RunWatcher::read_line(std::string_view text) {
  if (text.starts_with("{\"kind\":\"train\",\"iter\":")) {
    train_line_ = text;
    const auto digits = text.substr(23);
    iteration_ = parse_number<std::uint64_t>(digits.substr(0, digits.find_first_of(",}"))).value_or(iteration_);
    return;
  }
  const auto line = json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto iteration = number<std::uint64_t>(line, "iter");
  const auto kind = text_of(line, "kind");
  if (!iteration) return;
  iteration_ = std::max(iteration_, *iteration);
  if (kind == "val") val_lines_[*iteration] = text;
  if (kind == "end") ended_ = true;
  if (const auto epoch = number<std::uint64_t>(line, "epoch"); kind == "epoch" && epoch && *epoch > 0)
    epoch_length_ = *iteration / *epoch;
}

// The run states it. That of a run without graph.json follows from its configuration.
std::optional<std::uint64_t> RunWatcher::last_iteration() const {
  if (const auto last = number<std::uint64_t>(small_json(folder_ / "graph.json"), "last_iteration"); last && *last > 0)
    return last;
  auto last = max_iter_ > 0 ? max_iter_ : std::numeric_limits<std::uint64_t>::max();
  if (max_epochs_ > 0 && epoch_length_ > 0) last = std::min(last, max_epochs_ * epoch_length_);
  if (max_iter_ == 0 && (max_epochs_ == 0 || epoch_length_ == 0)) return {};
  return last;
}

// The run has decided which one is the best: it is the one that snapshots/best leads to.
std::optional<BestValue> RunWatcher::best() const {
  constexpr std::string_view stem = "iter-";
  std::error_code error;
  const auto target = fs::read_symlink(folder_ / "snapshots" / "best", error).filename().string();
  if (error || !target.starts_with(stem)) return {};
  auto digits = std::string_view(target).substr(stem.size());
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  const auto iteration = parse_number<std::uint64_t>(digits);
  const auto found = iteration ? val_lines_.find(*iteration) : val_lines_.end();
  if (found == val_lines_.end()) return {};
  const auto line = json::parse(found->second, nullptr, /*allow_exceptions=*/false);
  for (auto& metric : metrics_)
    if (const auto value = number<double>(line, metric.c_str())) return BestValue{metric, *value, *iteration};
  return {};
}

RunStatus RunWatcher::status(std::optional<double> age_s) const {
  const auto host = text_of(small_json(folder_ / "env.json"), "host");
  const bool elsewhere = !host.empty() && host != host_name();
  if (is_locked(folder_)) return RunStatus::running;
  if (ended_) return RunStatus::done;
  if (elsewhere && age_s && *age_s < silent_s) return RunStatus::running;
  // A result of an earlier start is of an earlier iteration.
  const auto result = small_json(folder_ / "result.json");
  const bool newest = number<std::uint64_t>(result, "iteration").value_or(0) >= iteration_;
  return newest && text_of(result, "ended") == "interrupted" ? RunStatus::interrupted : RunStatus::failed;
}

}  // namespace flowtrain
