#include "pipeline/runs/run_reader/run_history.h"

#include <cmath>
#include <string_view>

#include "pipeline/base/telemetry/json_text.h"

namespace flowtrain {

using nlohmann::ordered_json;

bool RunHistory::update(const OnLine& on_line) {
  for (bool changed = false;;) {
    const auto appended = read_appended(file_, mark_);
    mark_ = appended.next;
    changed = changed || appended.restarted || !appended.text.empty();
    if (appended.restarted) {
      ++restarts_;
      for (auto* series : {&train_, &val_}) series->clear();
      newest_.clear();
    }
    if (appended.text.empty()) return changed;
    for_each_line(appended.text, [&](std::string_view text) {
      const auto line = parse_json(text);
      if (!line.is_object()) return;
      add(line);
      if (on_line) on_line(line);
    });
  }
}

void RunHistory::add(const ordered_json& line) {
  const auto kind = line.find("kind");
  if (kind == line.end() || !kind->is_string()) return;
  const auto name = kind->get<std::string>();
  newest_[name] = line;
  const auto iteration = line.find("iter");
  if ((name != "train" && name != "val") || iteration == line.end() || !iteration->is_number()) return;
  auto& series = name == "train" ? train_ : val_;
  for (auto& [field, value] : line.items())
    if (field != "iter" && value.is_number() && std::isfinite(value.get<double>()))
      series[field].add(iteration->get<double>(), value.get<double>());
}

const ordered_json& RunHistory::newest(const std::string& kind) const {
  static const ordered_json none;
  const auto found = newest_.find(kind);
  return found == newest_.end() ? none : found->second;
}

}  // namespace flowtrain
