#include "sampling/datasets/tables/parquet_rows.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "sampling/core/error.h"
#include "sampling/core/in_parallel.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/fingerprint.h"
#include "sampling/io/descriptor.h"
#include "sampling/io/files.h"
#include "sampling/parts/part_collector.h"
#include "sampling/remote/remote.h"

namespace flowtrain {
namespace {

using Kind = ParquetColumn::Kind;

OpenParquet* find_library(const std::string& path) {
  void* const library = dlopen("libflowtrain_parquet.so", RTLD_NOW | RTLD_LOCAL);
  if (library) return reinterpret_cast<OpenParquet*>(dlsym(library, "flowtrain_open_parquet"));
  throw UserError(ExitCode::data, concat(path, ": this flowtrain reads no Parquet: ", dlerror()),
                  "build it with pyarrow " FLOWTRAIN_PYARROW_VERSION
                  " (docs/own_data.md, \"Parquet\"), or save the table "
                  "as JSON lines");
}

/// Calls `body`, and tells its failures as those of the file.
template <class Body>
auto of_file(const std::string& path, Body&& body) {
  try {
    return body();
  } catch (const UserError&) {
    throw;
  } catch (const RemoteError& error) {
    throw UserError(ExitCode::data, path + ": " + error.what(), error.hint());
  } catch (const std::system_error& error) {
    throw UserError(ExitCode::data, as_utf8(path) + ": " + error.code().message());
  } catch (const std::runtime_error& error) {
    throw UserError(ExitCode::data, as_utf8(concat(path, ": ", error.what())), "write the file again");
  }
}

/// Returns a hash of a file's size and its end, where Parquet says which values are where.
std::uint64_t hash_of_end(const ByteSource& file) {
  const auto size = file.size_bytes();
  std::vector<std::byte> end;
  const auto bytes = std::min<std::uint64_t>(size, 1 << 20);
  read_exactly(file, size - bytes, bytes, end);
  if (bytes < 12 || std::memcmp(&end[bytes - 4], "PAR1", 4) != 0)
    throw std::runtime_error("the file is cut, or no Parquet: it does not end with PAR1");
  return fingerprint_of(std::span<const std::byte>(end), size);
}

std::size_t rows_of(const ManifestColumn& column) {
  return column.ends.empty() ? column.texts.size() + column.integers.size() + column.reals.size() : column.ends.size();
}

std::uint64_t bytes_of(const ManifestColumn& column) {
  auto bytes = 8 * (column.integers.size() + column.ends.size()) + 4 * column.reals.size() + 9 * column.texts.size();
  for (std::size_t row = 0; row < column.texts.size(); ++row) bytes += column.texts[row].size();
  return bytes;
}

/// Returns a value as the cell of another table has it.
std::string cell_of(const ManifestColumn& column, bool is_list, std::size_t row) {
  if (column.texts.size() > 0) return std::string(column.texts[row]);
  const auto begin = column.ends.empty() ? row : row == 0 ? 0 : column.ends[row - 1];
  const auto end = column.ends.empty() ? row + 1 : column.ends[row];
  std::string cell;
  for (auto at = begin; at < end; ++at)
    cell += concat(cell.empty() ? "" : ",",
                   column.reals.empty() ? std::to_string(column.integers[at]) : concat(column.reals[at]));
  return is_list ? "[" + cell + "]" : cell;
}

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

}  // namespace

ParquetRows::ParquetRows(const std::vector<std::string>& paths, const std::shared_ptr<const RemoteAccess>& access,
                         std::uint64_t most_bytes)
    : most_bytes_(most_bytes) {
  files_.resize(paths.size());
  in_parallel(paths.size(), access ? 8 : 1, [&](std::size_t i) {
    auto& file = files_[i];
    file.path = access ? public_name(paths[i]) : paths[i];
    of_file(file.path, [&] {
      if (access)
        file.bytes = std::make_unique<RemoteFile>(paths[i], access);
      else
        file.bytes = std::make_unique<Descriptor>(Descriptor::file(paths[i].c_str()));
      file.hash = hash_of_end(*file.bytes);
      static OpenParquet* const open = find_library(file.path);
      file.opened.reset(open(*file.bytes, access != nullptr));
    });
  });
  std::uint64_t rows = 0;
  for (std::size_t number = 0; number < files_.size(); ++number) {
    const auto& file = *files_[number].opened;
    hash_ = fingerprint_of(files_[number].hash, hash_);
    check_schema(files_[number].path, file.columns());
    for (std::size_t group = 0; group < file.group_rows().size(); ++group) {
      const auto size = file.group_rows()[group];
      if (size == 0) continue;
      groups_.push_back({number, group, rows, size});
      slots_.emplace_back();
      rows += size;
    }
  }
}

void ParquetRows::check_schema(const std::string& path, const std::vector<ParquetColumn>& columns) {
  if (&path == &files_.front().path) columns_ = columns;
  const auto differs = std::ranges::mismatch(columns, columns_);
  if (differs.in1 == columns.end() && differs.in2 == columns_.end()) return;
  const auto listed = [](auto at, auto end) {
    return at == end ? "nothing more" : concat("'", at->name, "', ", at->type);
  };
  throw UserError(ExitCode::data,
                  as_utf8(concat(path, ": after ", differs.in1 - columns.begin(), " columns comes ",
                                 listed(differs.in1, columns.end()), ", but in ", files_.front().path, " ",
                                 listed(differs.in2, columns_.end()))),
                  "files of one folder have one schema: write them again, or move others away");
}

Table ParquetRows::table(const std::string& path) const {
  Table table{path};
  table.hash = hash_;
  for (const auto& column : columns_) {
    const bool is_text = column.kind == Kind::text, is_integer = column.kind == Kind::integer;
    const auto kind = is_text      ? column.is_list ? TableColumn::texts : TableColumn::text
                      : is_integer ? column.is_list ? TableColumn::numbers : TableColumn::number
                                   : TableColumn::other;
    table.columns.push_back({.name = column.name, .kinds = kind});
  }
  std::size_t file = 0;
  std::uint32_t line = 0;
  for (const auto& group : groups_) {
    if (std::exchange(file, group.file) != group.file) line = 0;
    for (std::uint64_t row = 0; row < group.size; ++row) table.lines.push_back(++line);
  }
  return table;
}

void ParquetRows::fill(Table& table, std::size_t column) const {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const auto values = of_file(files_[groups_[group].file].path, [&] { return decode(group, {&column, 1}); });
    if (const auto& wrong = values.front().wrong; !wrong.empty())
      throw UserError(
          ExitCode::data,
          as_utf8(concat(files_[groups_[group].file].path, ":", table.lines[groups_[group].first + wrong.front().first],
                         ": column '", columns_[column].name, "': ", wrong.front().second)),
          "repair the file, or leave out the row");
    for (std::size_t row = 0; row < groups_[group].size; ++row)
      table.columns[column].cells.add(cell_of(values.front().column, columns_[column].is_list, row));
  }
}

PartForm ParquetRows::form_of(std::size_t index) const {
  const auto& column = columns_[index];
  const auto name = lower_case(column.name);
  if (column.kind == Kind::text) return {column.name, Encoding::text};
  if (column.kind == Kind::bytes)
    return {column.name, name == image_part || is_picture("a." + name) ? Encoding::image
                         : name == audio_part || is_sound("a." + name) ? Encoding::audio
                                                                       : Encoding::bytes};
  PartForm form{column.name, Encoding::array, column.kind == Kind::real ? DType::f32 : DType::i64};
  if (column.is_list) form.shape = {-1};
  return form;
}

std::size_t ParquetRows::find(std::uint64_t row) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(groups_, row, {}, &Place::first) - groups_.begin()) - 1;
}

void ParquetRows::read(std::uint64_t row, ReadBuffer& buffer, std::vector<std::span<const std::byte>>& values) const {
  const auto number = find(row);
  const auto group = decoded(number);
  const auto at = row - groups_[number].first;
  std::size_t bytes = 0;
  for (const auto& each : *group) bytes += aligned(each.column.bytes(at).size());
  if (buffer.bytes.size() < bytes) buffer.bytes.resize(bytes);
  auto* to = buffer.bytes.data();
  values.clear();
  for (std::size_t i = 0; i < chosen_.size(); ++i) {
    const auto& [column, wrong] = (*group)[i];
    const auto& declared = columns_[chosen_[i]];
    const auto value = column.bytes(at);
    if (const auto found = std::ranges::lower_bound(wrong, at, {}, &std::pair<std::size_t, const char*>::first);
        found != wrong.end() && found->first == at)
      throw std::runtime_error(concat("column '", declared.name, "': ", found->second));
    if (declared.kind == Kind::text)
      if (const auto place = first_not_utf8({reinterpret_cast<const char*>(value.data()), value.size()}))
        throw std::runtime_error(concat("column '", declared.name, "': the text is not UTF-8 at byte ", *place));
    values.emplace_back(to, value.size());
    to = std::ranges::copy(value, to).out + (aligned(value.size()) - value.size());
  }
}

ParquetRows::Group ParquetRows::decode(std::size_t group, std::span<const std::size_t> columns) const {
  const auto& place = groups_[group];
  Group values;
  for (const auto column : columns) {
    values.push_back(files_[place.file].opened->read(place.group, column));
    values.back().column.form = form_of(column);
    if (const auto count = rows_of(values.back().column); count != place.size)
      throw std::runtime_error(
          concat("a group of ", place.size, " rows has ", count, " values of column '", columns_[column].name, "'"));
  }
  return values;
}

std::shared_ptr<const ParquetRows::Group> ParquetRows::decoded(std::size_t group) const {
  auto& slot = slots_[group];
  std::shared_ptr<const Group> values;
  std::uint64_t bytes = 0;
  {
    const MutexLock lock(slot.mutex);  // others that want this group wait for it
    if (!slot.group) {
      slot.group = std::make_shared<const Group>(decode(group, chosen_));
      for (const auto& each : *slot.group) bytes += bytes_of(each.column);
    }
    values = slot.group;
  }
  if (bytes > 0) make_room(group, bytes);
  return values;
}

void ParquetRows::make_room(std::size_t group, std::uint64_t bytes) const {
  std::vector<std::size_t> dropped;
  {
    const MutexLock lock(mutex_);
    kept_.emplace_back(group, bytes);
    kept_bytes_ += bytes;
    for (; kept_bytes_ > most_bytes_ && kept_.size() > 1; kept_.pop_front()) {
      dropped.push_back(kept_.front().first);
      kept_bytes_ -= kept_.front().second;
    }
  }
  for (const auto number : dropped) {
    const MutexLock lock(slots_[number].mutex);
    slots_[number].group.reset();
  }
}

}  // namespace flowtrain
