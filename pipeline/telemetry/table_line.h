#pragma once
// The tables that `flowtrain bench` prints.

#include <cstdio>
#include <string>

namespace flowtrain {

/// Appends what printf would print, up to 255 characters.
template <class... Values>
void append_line(std::string& text, const char* format, Values... values) {
  char buffer[256];
  std::snprintf(buffer, sizeof buffer, format, values...);
  text += buffer;
}

}  // namespace flowtrain
