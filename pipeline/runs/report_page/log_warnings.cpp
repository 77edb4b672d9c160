#include "pipeline/runs/report_page/log_warnings.h"

#include <algorithm>
#include <utility>

#include "pipeline/runs/run_reader/log_message.h"

namespace flowtrain {

namespace {

constexpr std::size_t most_texts = 100;

}  // namespace

void LogWarnings::update() {
  for (;;) {
    const auto appended = read_appended(log_, mark_);
    mark_ = appended.next;
    if (appended.restarted) {
      texts_.clear();
      count_ = 0;
    }
    if (appended.text.empty()) return;
    for_each_line(appended.text, [&](std::string_view line) { add(line); });
  }
}

void LogWarnings::add(std::string_view line) {
  auto message = log_message_of(line);
  if (!message || (message->level != "warning" && message->level != "error")) return;
  ++count_;
  auto known = std::ranges::find(texts_, message->text, &Text::text);
  if (known == texts_.end()) {
    if (texts_.size() == most_texts) texts_.erase(std::ranges::min_element(texts_, {}, &Text::last));
    texts_.push_back({std::move(message->time), std::move(message->level), std::move(message->text)});
    known = texts_.end() - 1;
  }
  ++known->times;
  known->last = count_;
}

nlohmann::ordered_json LogWarnings::json() const {
  auto lines = nlohmann::ordered_json::array();
  for (auto& each : texts_)
    lines.push_back({{"time", each.time}, {"level", each.level}, {"text", each.text}, {"times", each.times}});
  return {{"count", count_}, {"lines", std::move(lines)}};
}

}  // namespace flowtrain
