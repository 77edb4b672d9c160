#include "sampling/datasets/tables/table.h"

#include <algorithm>
#include <limits>
#include <system_error>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/fingerprint.h"
#include "sampling/io/descriptor.h"
#include "sampling/io/files.h"
#include "sampling/io/text_lines.h"

namespace flowtrain {
namespace {

std::string read_text(const std::string& path) {
  try {
    const auto file = Descriptor::file(path.c_str());
    std::string text(file.size_bytes(), '\0');
    read_exactly(file, 0, std::as_writable_bytes(std::span(text)));
    return text;
  } catch (const std::system_error& error) {
    throw UserError(ExitCode::data, path + ": " + error.code().message());
  } catch (const std::runtime_error& error) {
    throw UserError(ExitCode::data, path + ": " + error.what());
  }
}

}  // namespace

std::string Table::place(std::size_t row, std::string_view column) const {
  return as_utf8(concat(path, ":", lines[row], ": column '", column, "'"));
}

void add_cell(Table& table, std::size_t column, std::string_view cell) {
  auto& into = table.columns[column];
  if (const auto wrong = first_not_utf8(cell))
    throw UserError(ExitCode::data,
                    concat(table.place(table.rows() - 1, into.name), ": the text is not UTF-8 at byte ", *wrong),
                    "save the file as UTF-8");
  into.cells.add(cell);
}

Table read_table(const std::string& path) { return parse_table(path, read_text(path)); }

Table parse_table(const std::string& path, std::string text) {
  Table table{path};
  table.hash = fingerprint_of(std::string_view(text));
  const auto first = std::string_view(text).substr(0, text.find('\n'));
  const auto begin = static_cast<std::size_t>(clean_line(first, 1, path).data() - text.data());  // after an order mark
  const auto ending = ending_of(path);
  if (ending == "csv" || ending == "tsv")
    read_csv(std::string_view(text).substr(begin), ending == "csv" ? ',' : '\t', table);
  else
    read_json_lines(text, begin, table);
  if (table.rows() == 0) throw EmptyDataset(path + ": the table has no rows");
  for (auto& column : table.columns) column.cells.shrink_to_fit();
  table.lines.shrink_to_fit();
  return table;
}

}  // namespace flowtrain
