#pragma once
// The interface of the log: plain lines on the console, the same with time and level in a file. Any thread; lines never
// tear. spdlog works behind it and stays out of this header, because torch ships another fmt.

#include <filesystem>
#include <string_view>

#include "sampling/core/text.h"

namespace flowtrain {

/// Shows the line on the console only with --verbose.
void log_debug(std::string_view text);
/// Shows the line on the console unless --quiet is given.
void log_info(std::string_view text);
/// Shows "warning: text" on the console.
void log_warn(std::string_view text);
/// Shows "error: text" on the console.
void log_error(std::string_view text);

/// The lines that reach the console; the file gets everything.
enum class ConsoleLevel {
  quiet,    ///< warnings and errors
  normal,   ///< warnings, errors and info
  verbose,  ///< every line, debug included
};
void set_console_level(ConsoleLevel level);
ConsoleLevel console_level();

/// Appends every line, with time and level, to the file at `path` from now on; the last 256 earlier lines are written
/// first. Call it before other threads log. Throws UserError(snapshot) if the file cannot be opened. A disk that is
/// full later on is reported once on the console, and the program goes on.
void set_log_file(const std::filesystem::path& path);
/// Returns the path given to set_log_file(); empty before.
const std::filesystem::path& log_file();
/// Returns a descriptor that appends to log_file(), or -1, for an ending process that may hold the log's locks.
int open_log_file();

}  // namespace flowtrain
