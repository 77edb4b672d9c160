#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <algorithm>

#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/datasets/tables/table.h"

namespace flowtrain {
namespace {

/// Fills a row from an object; RapidJSON calls this for each value. Lists and objects within are kept as their text.
class RowReader : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, RowReader> {
 public:
  explicit RowReader(Table& table) : table_(table) {}

  /// Reads the object that `line` is; a zero byte follows it.
  void read(std::string_view line, std::uint32_t number) {
    table_.lines.push_back(number);
    line_ = line;
    next_ = 0;
    depth_ = 0;
    rapidjson::StringStream stream(line.data());
    stream_ = &stream;
    // RapidJSON 1.1 overflows when it computes numbers with exponents near -2^31 (CVE-2024-38517): it only finds their
    // ends.
    constexpr unsigned flags = rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseValidateEncodingFlag;
    const auto result = reader_.Parse<flags>(stream, *this);
    if (result.IsError()) {
      const bool is_control = result.Code() == rapidjson::kParseErrorStringEscapeInvalid ||
                              result.Code() == rapidjson::kParseErrorStringInvalidEncoding;
      const auto at = std::min(result.Offset(), line.size() - 1);
      fail_json(is_control && static_cast<unsigned char>(line[at]) < ' '
                    ? "a control character in a text needs a backslash, such as \\t for a tab"
                    : rapidjson::GetParseError_En(result.Code()),
                result.Offset());
    }
    if (stream.Tell() != line.size()) fail_json("a zero byte", stream.Tell());
    for (std::size_t column = 0; column < table_.columns.size(); ++column)
      if (table_.columns[column].cells.size() < table_.rows()) add_cell(table_, column, {});
  }

  bool Null() { return value({}, 0); }
  bool Bool(bool flag) { return value(flag ? "true" : "false", TableColumn::flag); }
  bool RawNumber(const char* digits, rapidjson::SizeType size, bool) {
    return value({digits, size}, TableColumn::number);
  }
  bool String(const char* text, rapidjson::SizeType size, bool) { return value({text, size}, TableColumn::text); }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    if (depth_ == 1) find_column({text, size});
    return true;
  }
  bool StartObject() {
    if (depth_ == 1) start(TableColumn::other);
    if (depth_ > 1) items_ = TableColumn::other;
    return enter();
  }
  bool StartArray() {
    if (depth_ == 0) fail("the line is no object", "write an object in each line: {\"path\": \"a.jpg\"}");
    if (depth_ == 1) start(0);
    if (depth_ > 1) items_ = TableColumn::other;
    return enter();
  }
  bool EndObject(rapidjson::SizeType) { return leave(); }
  bool EndArray(rapidjson::SizeType) { return leave(); }

 private:
  static constexpr int max_depth = 100;

  [[noreturn]] void fail(const std::string& what,
                         const std::string& hint = "repair the line, or write it again") const {
    throw UserError(ExitCode::data, concat(table_.path, ":", table_.lines.back(), ": ", what), hint);
  }

  [[noreturn]] void fail_json(std::string_view what, std::size_t at) const {
    fail(concat("malformed JSON at byte ", at + 1, ": ", what.substr(0, what.find_last_not_of('.') + 1)));
  }

  /// Begins a list or an object that is the value of a column; `items` are the kinds of what it holds.
  void start(unsigned items) {
    items_ = items;
    begin_ = stream_->Tell() - 1;
  }

  bool enter() {
    if (++depth_ > max_depth) fail("nested deeper than 100");
    return true;
  }

  bool leave() {
    if (--depth_ != 1) return true;
    const bool one_kind = items_ == TableColumn::numbers || items_ == TableColumn::texts;
    const auto kind = one_kind ? items_ : items_ == 0 ? TableColumn::empty_list : TableColumn::other;
    return set(line_.substr(begin_, stream_->Tell() - begin_), kind);
  }

  bool value(std::string_view text, unsigned kind) {
    if (depth_ == 0) fail("the line is no object", "write an object in each line: {\"path\": \"a.jpg\"}");
    if (depth_ == 1) return set(text, kind);
    items_ |= kind == TableColumn::number ? TableColumn::numbers
              : kind == TableColumn::text ? TableColumn::texts
                                          : TableColumn::other;
    return true;
  }

  bool set(std::string_view cell, unsigned kind) {
    auto& column = table_.columns[column_];
    column.kinds |= kind;
    if (column.cells.size() == table_.rows()) fail("'" + column.name + "' occurs twice");
    add_cell(table_, column_, cell);
    return true;
  }

  /// Finds the column of a key, which is most often the one after the last; a new one lacks the cells of rows before.
  void find_column(std::string_view key) {
    auto& columns = table_.columns;
    column_ = next_;
    if (next_ >= columns.size() || columns[next_].name != key) {
      const auto found = std::ranges::find(columns, key, &TableColumn::name);
      column_ = static_cast<std::size_t>(found - columns.begin());
    }
    next_ = column_ + 1;
    if (column_ < columns.size()) return;
    if (columns.size() == max_columns) fail("more than 4096 different keys");
    if (key.empty() || as_utf8(key) != key) fail(key.empty() ? "a key is empty" : "a key is not UTF-8");
    columns.push_back({std::string(key)});
    for (std::size_t row = 1; row < table_.rows(); ++row) columns.back().cells.add({});
  }

  static constexpr std::size_t max_columns = 4096;

  Table& table_;
  rapidjson::Reader reader_;
  const rapidjson::StringStream* stream_ = nullptr;
  std::string_view line_;
  std::size_t column_ = 0, next_ = 0;  ///< indices of the column whose value comes, and of the one expected after it
  std::size_t begin_ = 0;              ///< place in the line of the list or object that is being read
  unsigned items_ = 0;                 ///< kinds of what it holds
  int depth_ = 0;
};

/// Makes numbers of the flags of a column, 1 of true, if it holds no other values than flags and numbers.
void number_flags(TableColumn& column) {
  if ((column.kinds & TableColumn::flag) == 0 || (column.kinds & ~(TableColumn::flag | TableColumn::number)) != 0)
    return;
  Names cells;
  for (std::size_t row = 0; row < column.cells.size(); ++row) {
    const auto cell = column.cells[row];
    cells.add(cell == "true" ? "1" : cell == "false" ? "0" : cell);
  }
  column.cells = std::move(cells);
}

}  // namespace

void read_json_lines(std::string& text, std::size_t begin, Table& table) {
  RowReader reader(table);
  std::uint32_t number = 0;
  while (begin < text.size()) {
    ++number;
    const auto end = std::min(text.find('\n', begin), text.size());
    if (end < text.size()) text[end] = '\0';
    const std::string_view line(text.data() + begin, end - begin);
    if (!trimmed(line).empty()) reader.read(line, number);
    begin = end + 1;
  }
  for (auto& column : table.columns) number_flags(column);
}

}  // namespace flowtrain
