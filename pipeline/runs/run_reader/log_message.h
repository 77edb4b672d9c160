#pragma once
// Parses lines of train.log.

#include <optional>
#include <string>
#include <string_view>

namespace flowtrain {

/// A message, such as "2026-11-26 01:07:10.721 warning text".
struct LogMessage {
  std::string time;   ///< "2026-11-26 01:07:10.721"
  std::string level;  ///< "info", "warning", "error", "debug"
  std::string text;
};

/// Parses a line. Returns nothing for one that continues a message: a stack, or a text of several lines.
std::optional<LogMessage> log_message_of(std::string_view line);

}  // namespace flowtrain
