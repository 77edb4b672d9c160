#include "pipeline/watch/log_tail.h"

#include <algorithm>
#include <string_view>

#include "sampling/core/parse.h"

namespace flowtrain::watch {
namespace {

constexpr std::size_t most_lines = 200;
constexpr std::uint64_t bytes_at_first = 1 << 18;
// "2026-11-26 01:07:10.721 info    text": the places of the time, the level and the text.
constexpr std::size_t time_at = 11, time_length = 8, level_at = 24, text_at = 32;

}  // namespace

LogTail::LogTail(const std::filesystem::path& run_folder)
    : file_(run_folder / "train.log"), mark_(mark_near_end(file_, bytes_at_first)) {}

bool LogTail::update() {
  for (bool changed = false;;) {
    const auto appended = read_appended(file_, mark_);
    mark_ = appended.next;
    if (appended.restarted) lines_.clear();
    if (appended.text.empty()) return changed;
    changed = true;
    for_each_line(appended.text, [&](std::string_view line) { add(line); });
  }
}

void LogTail::add(std::string_view line) {
  const auto level = line.size() > text_at ? trimmed(line.substr(level_at, text_at - level_at)) : std::string_view();
  const auto text = line.substr(std::min(text_at, line.size()));
  if (level == "debug" || (level == "info" && text.starts_with("iter "))) return;
  if (level == "info" || level == "warning" || level == "error")
    lines_.push_back({std::string(line.substr(time_at, time_length)), std::string(text), level != "info"});
  else
    lines_.push_back({{}, std::string(line), false});  // a stack, or a text of several lines
  if (lines_.size() > most_lines) lines_.pop_front();
}

}  // namespace flowtrain::watch
