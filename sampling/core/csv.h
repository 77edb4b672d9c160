#pragma once
// Cells of CSV files.

#include <string>
#include <string_view>

namespace flowtrain {

/// Appends a cell, in quotes where its text needs them (RFC 4180). The caller writes commas and line ends.
inline void append_csv_cell(std::string& line, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) {
    line += text;
    return;
  }
  line += '"';
  for (const char c : text) line.append(c == '"' ? 2 : 1, c);
  line += '"';
}

}  // namespace flowtrain
