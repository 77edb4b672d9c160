#include "pipeline/runs/run_reader/log_message.h"

#include "sampling/core/parse.h"

namespace flowtrain {

std::optional<LogMessage> log_message_of(std::string_view line) {
  // The columns at which telemetry/log.cpp writes the parts.
  constexpr std::size_t time_length = 23, level_at = 24, text_at = 32;
  if (line.size() < text_at) return {};
  const auto level = trimmed(line.substr(level_at, text_at - level_at));
  for (const std::string_view known : {"info", "warning", "error", "debug"})
    if (level == known)
      return LogMessage{std::string(line.substr(0, time_length)), std::string(level),
                        std::string(line.substr(text_at))};
  return {};
}

}  // namespace flowtrain
