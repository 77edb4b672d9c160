#pragma once
// The log door: plain lines on the console, the same with time and level in a file. Any thread; lines never tear.
// spdlog works behind it and stays out of this header, because torch ships another fmt.

#include <filesystem>
#include <string_view>

#include "sampling/core/text.h"

namespace flowtrain {

/// Only with --verbose on the console.
void log_debug(std::string_view text);
/// Not with --quiet on the console.
void log_info(std::string_view text);
/// "warning: text" on the console.
void log_warn(std::string_view text);
/// "error: text" on the console.
void log_error(std::string_view text);

/// What reaches the console; the file gets everything.
enum class ConsoleLevel {
  quiet,    ///< warnings and errors
  normal,   ///< and info
  verbose,  ///< and debug
};
void set_console_level(ConsoleLevel level);
ConsoleLevel console_level();

/// Appends every line, with time and level, to the file at `path` from now on; what was logged before (the last 256
/// lines) is written first. Call it before other threads log. Throws UserError(snapshot) if the file cannot be opened.
/// A disk that is full later on is reported once on the console, and the program goes on.
void set_log_file(const std::filesystem::path& path);
/// The path given to set_log_file(); empty before.
const std::filesystem::path& log_file();
/// For a process that is about to end, and may hold the log's locks: a descriptor that appends to log_file(), or -1.
int open_log_file();

}  // namespace flowtrain
