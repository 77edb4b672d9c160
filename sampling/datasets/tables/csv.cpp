#include <algorithm>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/datasets/tables/table.h"

namespace flowtrain {
namespace {

/// Reads cell after cell (RFC 4180). Line ends are "\n" or "\r\n".
class CsvReader {
 public:
  CsvReader(std::string_view text, char delimiter, Table& table) : text_(text), delimiter_(delimiter), table_(table) {}

  void read() {
    read_header();
    while (skip_empty_lines()) read_row();
  }

 private:
  enum class After { cell, row };

  [[noreturn]] void fail(std::uint32_t line, const std::string& what, const std::string& hint) const {
    throw UserError(ExitCode::data, concat(table_.path, ":", line, ": ", what), hint);
  }

  bool skip_empty_lines() {
    for (; at_ < text_.size(); ++line_) {
      if (text_[at_] == '\n')
        ++at_;
      else if (text_.substr(at_).starts_with("\r\n"))
        at_ += 2;
      else
        return true;
    }
    return false;
  }

  void read_header() {
    if (!skip_empty_lines()) throw EmptyDataset(table_.path + ": the file is empty");
    const auto line = line_;
    for (auto after = After::cell; after == After::cell;) {
      after = next_cell();
      const auto name = as_utf8(cell_);
      const auto known = std::ranges::find(table_.columns, name, &TableColumn::name);
      if (name.empty())
        fail(line, concat("column ", table_.columns.size() + 1, " of the header has no name"),
             "the first line names the columns");
      if (known != table_.columns.end()) fail(line, "two columns are called '" + name + "'", "rename one of them");
      table_.columns.push_back({name});
    }
  }

  void read_row() {
    const auto line = line_;
    const auto columns = table_.columns.size();
    table_.lines.push_back(line);
    std::size_t cells = 0;
    for (auto after = After::cell; after == After::cell; ++cells) {
      after = next_cell();
      if (cells < columns) add_cell(table_, cells, cell_);
    }
    if (cells != columns)
      fail(line,
           concat("the row has ", cells, cells == 1 ? " cell" : " cells", ", but the header names ", columns,
                  columns == 1 ? " column" : " columns"),
           "write a cell that holds a delimiter or a line end in quotes: \"a, b\"");
  }

  /// Sets cell_ to the next cell, and takes what ends it.
  After next_cell() {
    if (at_ < text_.size() && text_[at_] == '"') return next_quoted();
    const auto begin = at_;
    while (at_ < text_.size() && text_[at_] != delimiter_ && text_[at_] != '\n') ++at_;
    cell_ = text_.substr(begin, at_ - begin);
    const bool ends_row = at_ == text_.size() || text_[at_] == '\n';
    if (ends_row && cell_.ends_with('\r')) cell_.remove_suffix(1);
    return take_end();
  }

  After next_quoted() {
    const auto line = line_;
    unquoted_.clear();
    for (++at_;; ++at_) {
      const auto quote = text_.find('"', at_);
      if (quote == text_.npos)
        fail(line, "the quote that begins here has no end", "write a quote in a cell twice: \"\"");
      const auto part = text_.substr(at_, quote - at_);
      line_ += static_cast<std::uint32_t>(std::ranges::count(part, '\n'));
      unquoted_ += part;
      at_ = quote + 1;
      if (at_ == text_.size() || text_[at_] != '"') break;
      unquoted_ += '"';
    }
    cell_ = unquoted_;
    if (text_.substr(at_).starts_with("\r\n")) ++at_;
    if (at_ < text_.size() && text_[at_] != delimiter_ && text_[at_] != '\n')
      fail(line_, "a cell goes on after its closing quote", "write a quote in a cell twice: \"\"");
    return take_end();
  }

  After take_end() {
    const bool ends_row = at_ == text_.size() || text_[at_] == '\n';
    line_ += ends_row ? 1 : 0;
    at_ += at_ < text_.size() ? 1 : 0;
    return ends_row ? After::row : After::cell;
  }

  std::string_view text_;
  char delimiter_;
  Table& table_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::string_view cell_;
  std::string unquoted_;
};

}  // namespace

void read_csv(std::string_view text, char delimiter, Table& table) { CsvReader(text, delimiter, table).read(); }

}  // namespace flowtrain
