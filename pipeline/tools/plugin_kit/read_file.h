#pragma once
// Reads the content of an open file.

#include <unistd.h>

#include <string>

namespace flowtrain::plugin_kit {

/// Returns the whole content; the file's position stays.
inline std::string read_file(int file) {
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = ::pread(file, buffer, sizeof buffer, static_cast<off_t>(text.size()))) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  return text;
}

}  // namespace flowtrain::plugin_kit
