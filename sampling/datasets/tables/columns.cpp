#include "sampling/datasets/tables/columns.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "sampling/io/files.h"
#include "sampling/parts/part_collector.h"

namespace flowtrain {
namespace {

using CellKind = TableColumn::Kind;

/// Calls take(text) for each number of a cell, that of a list in brackets or the only one; stops once it returns false.
template <class Take>
bool each_number(std::string_view cell, bool is_list, Take&& take) {
  cell = trimmed(cell);
  if (cell.empty()) return true;
  if (!is_list) return take(cell);
  if (!cell.starts_with('[') || !cell.ends_with(']') || cell.size() < 2) return false;
  cell = trimmed(cell.substr(1, cell.size() - 2));
  while (!cell.empty()) {
    const auto comma = cell.find(',');
    if (!take(trimmed(cell.substr(0, comma)))) return false;
    if (comma == cell.npos) break;
    cell.remove_prefix(comma + 1);
    if (cell.empty()) return false;
  }
  return true;
}

/// The form of a column whose values are all numbers, or lists of them.
struct NumberForm {
  bool is_list = false, is_real = false;
  std::optional<std::uint64_t> each = {};  ///< the count of numbers of each row, if all have the same
};

std::optional<NumberForm> number_form(const TableColumn& column) {
  const auto only = [&](unsigned kinds) { return (column.kinds & ~kinds) == 0; };
  const bool is_json = column.kinds != 0;
  NumberForm form;
  form.is_list = is_json && only(CellKind::numbers | CellKind::empty_list);
  if (is_json && !form.is_list && !only(CellKind::number | CellKind::flag)) return {};
  bool any = false, differ = false;
  for (std::size_t row = 0; row < column.cells.size(); ++row) {
    const auto cell = column.cells[row];
    if (!any && !is_json) form.is_list = trimmed(cell).starts_with('[');
    std::uint64_t count = 0;
    const bool fits = each_number(cell, form.is_list, [&](std::string_view text) {
      ++count;
      any = true;
      if (parse_number<std::int64_t>(text)) return true;
      form.is_real = true;
      return is_json || parse_number<double>(text).has_value();  // JSON's numbers are told if they are out of range
    });
    if (!fits) return {};
    differ = differ || (form.each && *form.each != count);
    form.each = count;
  }
  if (!any && !form.is_list) return {};
  if (differ) form.each.reset();
  return form;
}

float real_of(const Table& table, std::size_t row, const std::string& column, std::string_view text) {
  const auto value = parse_number<double>(text);
  const auto real = value ? static_cast<float>(*value) : 0.0F;
  if (!value || (std::isinf(real) && !std::isinf(*value)))
    throw UserError(ExitCode::data, concat(table.place(row, column), ": the number ", text, " is beyond f32"),
                    "write it in another unit, or in quotes as a text");
  return real;
}

ManifestColumn number_column(const Table& table, const TableColumn& column, const NumberForm& form) {
  ManifestColumn made{{column.name, Encoding::array, form.is_real ? DType::f32 : DType::i64}};
  if (form.is_list) made.form.shape = {form.each ? static_cast<std::int64_t>(*form.each) : -1};
  made.each = form.each.value_or(0);
  for (std::size_t row = 0; row < column.cells.size(); ++row) {
    each_number(column.cells[row], form.is_list, [&](std::string_view text) {
      if (form.is_real)
        made.reals.push_back(real_of(table, row, column.name, text));
      else
        made.integers.push_back(*parse_number<std::int64_t>(text));
      return true;
    });
    if (!form.each) made.ends.push_back(made.integers.size() + made.reals.size());
  }
  made.integers.shrink_to_fit();
  made.reals.shrink_to_fit();
  return made;
}

}  // namespace

std::span<const std::byte> ManifestColumn::bytes(std::size_t row) const {
  if (form.encoding != Encoding::array || is_file) return std::as_bytes(std::span(texts[row]));
  const auto begin = ends.empty() ? row * each : row == 0 ? 0 : ends[row - 1];
  const auto count = (ends.empty() ? begin + each : ends[row]) - begin;
  if (form.dtype == DType::f32) return std::as_bytes(std::span(reals).subspan(begin, count));
  return std::as_bytes(std::span(integers).subspan(begin, count));
}

ManifestColumn make_column(const Table& table, TableColumn column) {
  if (const auto form = number_form(column)) return number_column(table, column, *form);
  return {.form = {std::move(column.name), Encoding::text}, .texts = std::move(column.cells)};
}

void check_number_lists(const Table& table, const TableColumn& column) {
  constexpr unsigned lists = CellKind::numbers | CellKind::empty_list;
  if ((column.kinds & CellKind::numbers) == 0 || (column.kinds & ~lists) == 0) return;
  const auto is_number = [](std::string_view text) { return parse_number<double>(text).has_value(); };
  for (std::size_t row = 0; row < column.cells.size(); ++row)
    if (!each_number(column.cells[row], /*is_list=*/true, is_number))
      throw UserError(
          ExitCode::data,
          concat(table.place(row, column.name), ": it is no list of numbers, but other rows have lists of them"),
          "write a list of numbers in each row, or a text");
}

ManifestColumn make_file_column(const Table& table, TableColumn column) {
  const bool has_sounds = looks_like_sounds(column);
  std::optional<Encoding> encoding;
  for (std::size_t row = 0; row < column.cells.size(); ++row) {
    const auto path = column.cells[row];
    if (path.empty()) continue;
    const auto fail = [&](const std::string& what, const std::string& hint) {
      throw UserError(ExitCode::data, concat(table.place(row, column.name), ": ", path, " ", what), hint);
    };
    if (path.find("://") != path.npos) fail("is on a server", "fetch the files, or pack them into shards");
    if (path.find('\0') != path.npos) fail("has a zero byte", "write the path again");
    if (path.find("..") != path.npos) {
      const auto plain = std::filesystem::path(path).lexically_normal();
      if (!plain.empty() && *plain.begin() == "..")
        fail("leads out of the manifest's folder", "write an absolute path, or move the manifest");
    }
    const auto own = form_of_file({}, path).encoding;
    encoding = !encoding || *encoding == own ? own : Encoding::bytes;
  }
  if (has_sounds) encoding = Encoding::audio;
  return {.form = {std::move(column.name), encoding.value_or(Encoding::bytes)},
          .is_file = true,
          .texts = std::move(column.cells)};
}

bool looks_like_files(const TableColumn& column) {
  if ((column.kinds & ~CellKind::text) != 0) return false;
  bool any = false;
  for (std::size_t row = 0; row < column.cells.size(); ++row) {
    const auto path = column.cells[row];
    if (!path.empty() && (ending_of(path).empty() || parse_number<double>(path))) return false;
    any = any || !path.empty();
  }
  return any;
}

bool is_file_column(const TableColumn& column, const std::vector<std::string>& files) {
  static constexpr std::string_view usual[] = {"image",     "file",  "path",          "filename",
                                               "file_name", "audio", "audio_filepath"};
  if (files != std::vector<std::string>{"auto"}) return std::ranges::find(files, column.name) != files.end();
  return std::ranges::find(usual, lower_case(column.name)) != std::end(usual) && looks_like_files(column);
}

bool looks_like_sounds(const TableColumn& column) {
  bool any = false;
  for (std::size_t row = 0; row < column.cells.size(); ++row) {
    const auto path = column.cells[row];
    if (path.empty()) continue;
    const auto encoding = form_of_file({}, path).encoding;
    if (encoding != Encoding::audio && encoding != Encoding::bytes) return false;
    any = any || encoding == Encoding::audio;
  }
  return any;
}

bool looks_like_classes(const TableColumn& column) {
  if ((column.kinds & ~(CellKind::text | CellKind::number)) != 0) return false;
  const auto form = (column.kinds & CellKind::text) != 0 ? std::nullopt : number_form(column);
  return !form || (!form->is_real && !form->is_list);
}

}  // namespace flowtrain
