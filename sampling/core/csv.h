#pragma once
// Cells of CSV files.

#include <string>
#include <string_view>

#include "sampling/core/parse.h"

namespace flowtrain {

/// Returns whether a spreadsheet would run a cell as a formula: it is no number, and begins with such a mark.
inline bool is_formula(std::string_view text) {
  if (text.empty() || std::string_view("=+-@\t\r").find(text.front()) == text.npos) return false;
  return !parse_number<double>(text.substr(text.front() == '+' ? 1 : 0));
}

/// Appends a cell, in quotes if its text needs them (RFC 4180). A text that a spreadsheet would run as a formula gets
/// an apostrophe in front, as spreadsheets mark texts; csv_text() removes it again. The caller writes commas and line
/// ends.
inline void append_csv_cell(std::string& line, std::string_view text) {
  const std::string_view mark = is_formula(text) ? "'" : "";
  if (text.find_first_of(",\"\r\n") == text.npos) {
    line.append(mark).append(text);
    return;
  }
  line.append(1, '"').append(mark);
  for (const char c : text) line.append(c == '"' ? 2 : 1, c);
  line += '"';
}

/// Returns the text of a cell that append_csv_cell() wrote, without its quotes.
inline std::string_view csv_text(std::string_view cell) {
  return cell.starts_with('\'') && is_formula(cell.substr(1)) ? cell.substr(1) : cell;
}

}  // namespace flowtrain
