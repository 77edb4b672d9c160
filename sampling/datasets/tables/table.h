#pragma once
// Tables as files hold them: a text for each cell.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/core/names.h"

namespace flowtrain {

/// A column of a table. A cell is a text, or empty if a row lacks it.
struct TableColumn {
  /// The kinds of JSON's values, as bits.
  enum Kind : unsigned { text = 1, number = 2, flag = 4, numbers = 8, texts = 16, empty_list = 32, other = 64 };

  std::string name;
  Names cells = {};
  unsigned kinds = 0;  ///< kinds of its values in JSON lines; 0: a CSV file does not tell
};

/// A table in memory. Each cell takes its characters and nine bytes more.
struct Table {
  std::string path;
  std::vector<TableColumn> columns = {};
  std::vector<std::uint32_t> lines = {};  ///< line of the file in which each row begins, counted from 1
  std::uint64_t hash = 0;                 ///< fingerprint of the file's bytes

  std::size_t rows() const { return lines.size(); }
  /// Returns the place of a cell, for messages: "a.csv:17: column 'label'".
  std::string place(std::size_t row, std::string_view column) const;
};

/// The endings of tables' files: comma-separated values, tab-separated values, JSON lines.
inline constexpr std::string_view table_endings[] = {"csv", "tsv", "jsonl", "ndjson"};

/// Reads a table: CSV with a header line (RFC 4180; tabs instead of commas in a .tsv), or JSON lines, an object in each
/// line: lists and objects in it are kept as JSON. Empty lines are left out. Throws UserError(data), with the line, for
/// a file that is damaged or not UTF-8, rows of other lengths than the header, and names of columns that occur twice;
/// EmptyDataset for a table without rows.
Table read_table(const std::string& path);
/// Reads the text of such a table, whose format the ending of `path` tells; throws as read_table().
Table parse_table(const std::string& path, std::string text);

/// Reads the rows of one of the two formats from `text`, which may be changed.
void read_csv(std::string_view text, char delimiter, Table& table);
void read_json_lines(std::string& text, std::size_t begin, Table& table);

/// Adds a cell. Throws UserError(data), with its place, if it is not UTF-8.
void add_cell(Table& table, std::size_t column, std::string_view cell);

}  // namespace flowtrain
