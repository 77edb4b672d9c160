#include "pipeline/runs/watch/log_tail.h"

#include <string_view>

#include "pipeline/runs/run_reader/log_message.h"

namespace flowtrain::watch {
namespace {

constexpr std::size_t most_lines = 200;
constexpr std::uint64_t bytes_at_first = 1 << 18;
// The place of the time of day in "2026-11-26 01:07:10.721", without the fraction.
constexpr std::size_t time_at = 11, time_length = 8;

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
  const auto message = log_message_of(line);
  if (message) {
    if (message->level == "debug" || (message->level == "info" && message->text.starts_with("iter "))) return;
    lines_.push_back({message->time.substr(time_at, time_length), message->text, message->level != "info"});
  } else {
    lines_.push_back({{}, std::string(line), false});
  }
  if (lines_.size() > most_lines) lines_.pop_front();
}

}  // namespace flowtrain::watch
