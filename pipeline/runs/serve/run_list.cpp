#include "pipeline/runs/serve/run_list.h"

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "pipeline/base/telemetry/json_text.h"

namespace flowtrain::serve {

using nlohmann::ordered_json;

const std::vector<FoundRun>& RunList::found() {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  if (begin < next_search_) return runs_;
  auto runs = find_runs(folder_);
  const auto end = Clock::now();
  next_search_ = end + std::max<Clock::duration>(std::chrono::seconds(1), 20 * (end - begin));
  const auto is_gone = [&runs](auto& each) {
    return std::ranges::find(runs, each.first, &FoundRun::name) == runs.end();
  };
  std::erase_if(watchers_, is_gone);
  for (auto& run : runs)
    if (auto& watcher = watchers_[run.name]; !watcher) watcher = std::make_unique<RunWatcher>(run.folder);
  runs_ = std::move(runs);
  return runs_;
}

std::string RunList::json() {
  const MutexLock lock(mutex_);
  ordered_json all = ordered_json::array();
  for (auto& run : found()) {
    const auto summary = watchers_.at(run.name)->summary();
    const auto or_null = [](auto& value) { return value ? ordered_json(*value) : ordered_json(); };
    ordered_json entry{{"name", run.name},
                       {"status", status_name(summary.status)},
                       {"iteration", summary.iteration},
                       {"last_iteration", or_null(summary.last_iteration)},
                       {"loss", or_null(summary.loss)},
                       {"best", nullptr},
                       {"written_s", or_null(summary.written_s)}};
    if (const auto& best = summary.best)
      entry["best"] = {{"metric", best->metric}, {"value", best->value}, {"iteration", best->iteration}};
    all.push_back(std::move(entry));
  }
  return json_text(ordered_json{{"runs", std::move(all)}});
}

std::optional<FoundRun> RunList::find(const std::string& name) {
  const MutexLock lock(mutex_);
  const auto& runs = found();
  const auto run = std::ranges::find(runs, name, &FoundRun::name);
  return run == runs.end() ? std::nullopt : std::optional(*run);
}

std::optional<std::pair<FoundRun, std::size_t>> RunList::find_prefix(const std::vector<std::string>& path,
                                                                     std::size_t first) {
  std::string name;
  for (std::size_t count = 1; first + count <= path.size(); ++count) {
    name += (count > 1 ? "/" : "") + path[first + count - 1];
    if (auto run = find(name)) return std::pair(*run, count);
  }
  return {};
}

}  // namespace flowtrain::serve
