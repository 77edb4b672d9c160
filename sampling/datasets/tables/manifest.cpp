// The `manifest` data set: a table of records, CSV, JSON lines or Parquet, whose columns are paths of files, texts,
// numbers and classes.

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <stdexcept>

#include "sampling/class_names.h"
#include "sampling/core/parse.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/same_files.h"
#include "sampling/datasets/sound_forms.h"
#include "sampling/datasets/split_names.h"
#include "sampling/datasets/tables/parquet_rows.h"
#include "sampling/datasets/tables/segments.h"
#include "sampling/datasets/tables/split_files.h"
#include "sampling/fingerprint.h"
#include "sampling/io/files.h"
#include "sampling/named_dataset.h"
#include "sampling/parts/part_collector.h"
#include "sampling/remote/remote.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

using Texts = std::vector<std::string>;

constexpr std::ptrdiff_t none = -1;

// The usual names of columns.
constexpr std::array<std::string_view, 3> label_names{"label", "class", "target"},
    begin_names{"begin", "start", "offset"};
constexpr std::array<std::string_view, 1> labels_names{"labels"};
constexpr std::array<std::string_view, 2> end_names{"end", "stop"};

std::ptrdiff_t index_of(const Table& table, std::string_view name, bool any_case = false) {
  const auto found = std::ranges::find_if(table.columns, [&](const TableColumn& column) {
    return any_case ? lower_case(column.name) == name : column.name == name;
  });
  return found == table.columns.end() ? none : found - table.columns.begin();
}

/// Returns the column that a key names. Throws the key's error if there is none.
std::ptrdiff_t needed_column(const Table& table, const std::string& name, const Settings& settings,
                             const std::string& key) {
  if (const auto index = index_of(table, name); index != none) return index;
  Texts names;
  for (const auto& column : table.columns) names.push_back(column.name);
  const auto near = nearest(name, names);
  throw settings.error(
      key, concat(table.path, " has no column '", name, "'"), ExitCode::data,
      concat(near.empty() ? "" : "did you mean '" + near + "'? ", "its columns: ", listed_classes(names)));
}

/// Returns the column of a key that may be "auto": then the first of the `usual` names, in any case, that fits.
std::ptrdiff_t class_column(const Table& table, const Settings& settings, const std::string& key,
                            std::span<const std::string_view> usual, bool (*fits)(const TableColumn&)) {
  const auto& name = settings.text(key);
  if (name.empty()) return none;
  if (name != "auto") return needed_column(table, name, settings, key);
  for (const auto each : usual)
    if (const auto index = index_of(table, each, true);
        index != none && fits(table.columns[static_cast<std::size_t>(index)]))
      return index;
  return none;
}

/// Returns for each column whether it holds paths of files.
std::vector<bool> file_columns(const Table& table, const Settings& settings) {
  const auto& given = settings.texts("files");
  for (const auto& name : given)
    if (given != Texts{"auto"}) needed_column(table, name, settings, "files");
  std::vector<bool> are_files;
  for (const auto& column : table.columns) are_files.push_back(is_file_column(column, given));
  return are_files;
}

}  // namespace

SegmentColumns find_segment_columns(const Table& table, const Settings& settings) {
  const auto any = [](const TableColumn&) { return true; };
  SegmentColumns found{class_column(table, settings, "begin", begin_names, any),
                       class_column(table, settings, "end", end_names, any)};
  if (found.begin == none || found.end != none || settings.text("end") != "auto") return found;
  found.end = index_of(table, "duration", true);
  found.is_duration = found.end != none;
  return found;
}

bool may_bound_segments(const std::string& name, const Settings& settings) {
  const auto may = [&](const char* key, std::span<const std::string_view> usual) {
    const auto& given = settings.text(key);
    return given == "auto" ? std::ranges::find(usual, lower_case(name)) != usual.end() : given == name && !name.empty();
  };
  return may("begin", begin_names) || may("end", end_names);
}

std::vector<SoundSegment> read_segments(const Table& table, const SegmentColumns& columns) {
  const auto seconds = [&](std::size_t row, std::ptrdiff_t index, double missing) {
    if (index == none) return missing;
    const auto& column = table.columns[static_cast<std::size_t>(index)];
    const auto cell = trimmed(column.cells[row]);
    const auto value = parse_number<double>(cell);
    if (!cell.empty() && !(value && *value >= 0 && *value < 1e9))
      throw UserError(ExitCode::data, concat(table.place(row, column.name), ": '", cell, "' is no time in seconds"),
                      "correct it, or set data.begin = \"\" and data.end = \"\": then recordings are whole");
    return value.value_or(missing);
  };
  std::vector<SoundSegment> segments(table.rows());
  for (std::size_t row = 0; row < segments.size(); ++row) {
    auto& [begin, end] = segments[row];
    begin = seconds(row, columns.begin, 0);
    end = seconds(row, columns.end, -1);
    if (columns.is_duration && end >= 0) end += begin;
    if (end >= 0 && end <= begin)
      throw UserError(ExitCode::data,
                      concat(table.place(row, table.columns[static_cast<std::size_t>(columns.end)].name),
                             ": the segment ends before it begins, or where it begins"),
                      "correct the row, or remove it");
  }
  return segments;
}

namespace {

class Manifest : public NamedDataset {
 public:
  /// `used`: names of the parts that are needed; other files are not read. "*": all. `rows`: of Parquet, else null.
  Manifest(SplitFiles place, Table table, std::unique_ptr<ParquetRows> rows, const Settings& settings,
           const Texts& used, std::shared_ptr<const RemoteAccess> access)
      : place_(std::move(place)),
        folder_(fs::path(table.path).parent_path()),
        access_(std::move(access)),
        rows_(std::move(rows)) {
    const ClassColumns in{
        class_column(table, settings, "label", label_names, looks_like_classes),
        class_column(table, settings, "labels", labels_names, [](const TableColumn&) { return true; })};
    const auto are_files = file_columns(table, settings);
    for (const auto& [key, index] : {std::pair("label", in.label), std::pair("labels", in.labels)})
      if (index != none && are_files[static_cast<std::size_t>(index)])
        throw settings.error(key, "the column '" + settings.text(key) + "' is one of files, too");
    if (in.label != none && in.label == in.labels)
      throw settings.error("labels", "the column is that of data.label, too", ExitCode::usage, "set data.label = \"\"");
    for (const auto index : {in.label, in.labels})
      if (rows_ && index != none) rows_->fill(table, static_cast<std::size_t>(index));
    auto classes = find_classes(table, in, given_class_names(settings));
    labels_ = std::move(classes.labels);
    classes_ = in.label == none && in.labels == none ? Texts() : std::move(classes.names);
    const auto segments = take_segments(table, are_files, settings);
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const auto at = static_cast<std::ptrdiff_t>(i);
      if (at == in.label || at == segments.begin || (at == segments.end && !segments.is_duration)) continue;
      if (at != in.labels && std::ranges::find(used, table.columns[i].name) != used.end())
        check_number_lists(table, table.columns[i]);
      if (at == in.labels)
        columns_.push_back(std::move(classes.lists));
      else if (rows_)
        add_parquet_column(i, used);
      else
        columns_.push_back(are_files[i] ? make_file_column(table, std::move(table.columns[i]))
                                        : make_column(table, std::move(table.columns[i])));
    }
    take_picture();
    take_recordings();
    if (may_have_same_files(named_paths())) firsts_ = firsts_of_same_files(named_paths(), folder_);
    leave_out_unused(used);
    if (access_ && !rows_) check_remote(table, settings, used);
    if (rows_) choose_parquet_columns(table);
    for (auto& column : columns_) {
      if (column.is_file && column.form.encoding == Encoding::array) complete(column, table);
      forms_.push_back(column.form);
    }
    table.columns.clear();
    table_ = std::move(table);
    if (std::ranges::count_if(columns_, is_sound_file) != 1) return;
    const auto& column = *std::ranges::find_if(columns_, is_sound_file);
    sounds_ = std::make_unique<SoundForms>(
        size(),
        [this, &column] {
          return version_of(column, fingerprint_of(std::as_bytes(std::span(segments_)), table_.hash));
        },
        [this, &column](std::uint64_t id) { return sound_form_of(id, path_in(column, id)); });
  }

  std::uint64_t size() const override { return table_.rows(); }

  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    Record record{.id = id, .label = label(id)};
    PartCollector parts(buffer);
    if (rows_) return read_row(record, buffer, parts);
    if (has_picture_) {
      record.encoding = Encoding::image;
      if (!picture_[id].empty())
        read_file(id, picture_[id], [&](const Descriptor& file) { parts.read_picture(file, 0, file.size_bytes()); });
    }
    for (const auto& column : columns_) {
      if (!column.is_file)
        add(column, column.bytes(id), parts);
      else if (const auto path = path_in(column, id); path.empty())
        parts.lack(column.form);
      else
        read_file(id, path, [&](const Descriptor& file) {
          if (const auto own = segment(column, id); !own.is_whole())
            parts.read_segment(column.form, file, 0, file.size_bytes(), own.begin, own.end);
          else
            parts.read(column.form, file, 0, file.size_bytes());
        });
    }
    parts.finish(record);
    return record;
  }

  bool outline(std::uint64_t id, Record& record, ReadBuffer& buffer) const override {
    if (rows_ || std::ranges::count_if(columns_, &ManifestColumn::is_file) != (sounds_ ? 1 : 0)) return false;
    record = {.id = id, .encoding = has_picture_ ? Encoding::image : Encoding::bytes, .label = label(id)};
    PartCollector parts(buffer);
    for (const auto& column : columns_) {
      const auto bytes = column.is_file ? 0 : column.bytes(id).size();
      if (column.is_file)
        parts.outline_audio(column.form, sounds_->form(id));
      else if (column.form.encoding == Encoding::text)
        parts.outline_text(column.form, bytes);
      else if (bytes == 0 || column.ends.empty() || column.form.shape.empty())
        bytes == 0 ? parts.lack(column.form) : parts.outline_array(column.form, column.form.shape);
      else
        parts.outline_text(column.form, bytes / size_of(column.form.dtype));
    }
    parts.finish(record);
    return true;
  }

  std::vector<PartForm> parts() const override { return forms_; }
  std::int64_t label(std::uint64_t id) const override { return labels_.empty() ? -1 : labels_[id]; }
  Texts classes() const override { return classes_; }
  std::string missing_labels() const override {
    return classes_.empty() ? "no column of " + table_.path +
                                  " is called label, class or target, and holds texts or integers; data.label names "
                                  "another"
                            : "";
  }
  std::string describe(std::uint64_t id) const override {
    return as_utf8(concat(rows_ ? rows_->path_of(id) : table_.path, ":", table_.lines[id]));
  }
  /// Returns the path of the picture or of the only recording, as the first of the rows that share the file has it, or
  /// else the number of the row.
  std::string name(std::uint64_t id) const override {
    const Names& paths = named_paths();
    if (rows_ || paths.size() == 0 || paths[id].empty()) return std::to_string(id);
    return as_utf8(paths[firsts_.empty() ? id : firsts_[id]]);
  }
  bool has_split() const override { return place_.has_split; }
  std::string place() const override { return as_utf8(table_.path); }
  Texts notes() const override { return place_.notes; }
  bool resident() const override {
    return !rows_ && !has_picture_ && std::ranges::none_of(columns_, &ManifestColumn::is_file);
  }
  std::uint64_t fingerprint() const override { return table_.hash; }
  std::uint64_t version() const override {
    std::uint64_t all = table_.hash;
    if (has_picture_ && !rows_)
      for (std::uint64_t id = 0; id < size(); ++id) all = fingerprint_of_file((folder_ / picture_[id]).string(), all);
    for (auto& column : columns_)
      if (column.is_file) all = version_of(column, all);
    return all;
  }
  std::uint64_t retries() const override { return access_ ? access_->outages.retries() : 0; }

 private:
  /// Returns the paths that name the records.
  const Names& named_paths() const { return has_picture_ ? picture_ : recordings_; }

  /// Reads the segments if there are recordings; returns the columns that they take.
  SegmentColumns take_segments(const Table& table, const std::vector<bool>& are_files, const Settings& settings) {
    std::size_t recordings = 0;
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      recordings += are_files[i] && looks_like_sounds(table.columns[i]) ? 1 : 0;
    for (const char* const key : {"begin", "end"}) {
      if (settings.text(key) == "auto" || settings.text(key).empty()) continue;
      if (rows_)
        throw settings.error(key, concat(table.path, " is Parquet, whose recordings are read whole"), ExitCode::usage,
                             "list files in a .csv or .jsonl, or cut the recordings");
      if (recordings != 1)
        throw settings.error(key,
                             concat(table.path, " has ", recordings, " columns of recordings, but segments need one"));
    }
    if (recordings == 0 || rows_) return {};
    const auto columns = find_segment_columns(table, settings);
    if (recordings > 1 && columns.begin != none && columns.end != none)
      throw settings.error(
          "begin",
          concat(table.path, " has columns of segments, '", table.columns[static_cast<std::size_t>(columns.begin)].name,
                 "' and '", table.columns[static_cast<std::size_t>(columns.end)].name, "', but ", recordings,
                 " columns of recordings, and segments need one"),
          ExitCode::data,
          "name one of the columns by data.files, or set data.begin = \"\" and data.end = \"\": then "
          "recordings are whole");
    if (recordings > 1) return {};
    if (columns.begin != none || columns.end != none) segments_ = read_segments(table, columns);
    return columns;
  }

  SoundSegment segment(const ManifestColumn& column, std::uint64_t id) const {
    return segments_.empty() || column.form.encoding != Encoding::audio ? SoundSegment() : segments_[id];
  }

  /// Reads the form of a row's recording; without frames if the row has none.
  SoundForm sound_form_of(std::uint64_t id, std::string_view path) const {
    SoundForm form;
    if (path.empty()) return form;
    read_file(id, path, [&](const Descriptor& file) {
      form = sound_form(file, 0, file.size_bytes());
      if (!segments_.empty()) form.frames = frames_between(form, segments_[id].begin, segments_[id].end).frames;
    });
    return form;
  }

  /// Takes the first column of pictures out of the parts: it is the records' own bytes.
  void take_picture() {
    const auto found = std::ranges::find_if(
        columns_, [&](auto& column) { return (column.is_file || rows_) && column.form.encoding == Encoding::image; });
    has_picture_ = found != columns_.end();
    if (!has_picture_) return;
    picture_ = std::move(found->texts);
    picture_column_ = found->form.name;
    columns_.erase(found);
  }

  static bool is_sound_file(const ManifestColumn& column) {
    return column.is_file && column.form.encoding == Encoding::audio;
  }

  /// Takes the paths out of the only column of recordings: they are names of the records, also where it is not used.
  void take_recordings() {
    if (std::ranges::count_if(columns_, is_sound_file) == 1)
      recordings_ = std::move(std::ranges::find_if(columns_, is_sound_file)->texts);
  }

  /// Adds the versions of a column's files to a hash.
  std::uint64_t version_of(const ManifestColumn& column, std::uint64_t before) const {
    for (std::uint64_t id = 0; id < size(); ++id)
      before = fingerprint_of_file((folder_ / path_in(column, id)).string(), before);
    return before;
  }

  std::string_view path_in(const ManifestColumn& column, std::uint64_t id) const {
    return recordings_.size() > 0 && is_sound_file(column) ? recordings_[id] : column.texts[id];
  }

  /// Removes the columns of files that are not used, unless a used part is missing: its error then lists all.
  void leave_out_unused(const Texts& used) {
    const auto is_here = [&](const std::string& name) {
      return name == image_part ||
             std::ranges::any_of(columns_, [&](auto& column) { return column.form.name == name; });
    };
    if (!std::ranges::all_of(used, is_here)) return;
    std::erase_if(columns_, [&](auto& column) {
      return (column.is_file || rows_) && std::ranges::find(used, column.form.name) == used.end();
    });
  }

  /// Leaves out a picture that is not used, and throws UserError(data) if a table on a server names other files.
  void check_remote(const Table& table, const Settings& settings, const Texts& used) {
    const auto is_picture = [&](const std::string& name) {
      return name == "*" || name == image_part || name == picture_column_;
    };
    has_picture_ = has_picture_ && (used.empty() || std::ranges::any_of(used, is_picture));
    if (has_picture_ || std::ranges::any_of(columns_, &ManifestColumn::is_file))
      throw settings.error(
          "path", concat(table.path, " is on a server, and files that a table names are read beside a local one alone"),
          ExitCode::data, "pack them into shards, which are read on a server, or copy the table and its files");
  }

  /// Completes the form of a column of .npy files by the first one that is there.
  void complete(ManifestColumn& column, const Table& table) const {
    for (std::size_t row = 0; row < table.rows(); ++row) {
      if (column.texts[row].empty()) continue;
      const auto path = path_of(column.texts[row]);
      try {
        const auto file = Descriptor::file(path.c_str());
        return complete_array_form(column.form, file, 0, file.size_bytes());
      } catch (const std::system_error& error) {
        throw UserError(ExitCode::data,
                        table.place(row, column.form.name) + ": " + path + ": " + error.code().message());
      } catch (const std::exception& error) {
        throw UserError(ExitCode::data, table.place(row, column.form.name) + ": " + path + ": " + error.what());
      }
    }
  }

  std::string path_of(std::string_view file) const { return (folder_ / file).string(); }

  /// Calls `body` with a row's file, and tells its failures as those of the row.
  template <class Body>
  void read_file(std::uint64_t id, std::string_view name, Body&& body) const {
    const auto fail = [&](const std::string& what) {
      throw SampleError(as_utf8(concat(describe(id), ": ", path_of(name), ": ", what)));
    };
    try {
      thread_local std::string path;  // keeps its memory
      path.assign(name.starts_with('/') ? "" : folder_.native());
      if (!path.empty() && !path.ends_with('/')) path += '/';
      path += name;
      body(Descriptor::file(path.c_str()));
    } catch (const UserError&) {
      throw;
    } catch (const std::system_error& error) {
      fail(error.code().message());
    } catch (const std::runtime_error& error) {
      fail(error.what());
    } catch (const std::invalid_argument& error) {
      fail(error.what());
    }
  }

  /// Adds the part of a column of a Parquet file; one of another type is left out unless it is used.
  void add_parquet_column(std::size_t index, const Texts& used) {
    const auto& column = rows_->column(index);
    if (column.kind != ParquetColumn::Kind::unsupported) {
      columns_.push_back({.form = rows_->form_of(index)});
    } else if (std::ranges::find(used, column.name) != used.end()) {
      throw UserError(ExitCode::data,
                      concat(place_.place, ": column '", column.name, "' is ", column.type,
                             ", but texts, bytes, numbers, and lists of texts or numbers are read"),
                      "write its fields as columns of their own, or the whole as a text of JSON");
    }
  }

  /// Lets only the columns be read that are parts, after the one of pictures.
  void choose_parquet_columns(const Table& table) {
    const auto place_of = [&](const std::string& name) { return static_cast<std::size_t>(index_of(table, name)); };
    std::vector<std::size_t> chosen;
    if (has_picture_) chosen.push_back(place_of(picture_column_));
    for (const auto& column : columns_)
      if (column.ends.empty()) chosen.push_back(place_of(column.form.name));  // classes are in memory
    rows_->choose(std::move(chosen));
  }

  Record read_row(Record& record, ReadBuffer& buffer, PartCollector& parts) const {
    thread_local std::vector<std::span<const std::byte>> values;  // keeps its memory
    try {
      rows_->read(record.id, buffer, values);
    } catch (const std::runtime_error& error) {
      throw SampleError(concat(describe(record.id), ": ", error.what()));
    }
    auto next = values.begin();
    if (has_picture_) {
      record.encoding = Encoding::image;
      record.bytes = *next++;
    }
    for (const auto& column : columns_) add(column, column.ends.empty() ? *next++ : column.bytes(record.id), parts);
    parts.finish(record);
    return record;
  }

  static void add(const ManifestColumn& column, std::span<const std::byte> bytes, PartCollector& parts) {
    if (column.form.encoding != Encoding::array)
      parts.add(column.form, bytes);
    else if (bytes.empty())
      parts.lack(column.form);
    else if (column.form.shape.empty() || column.form.shape.front() >= 0)
      parts.add(column.form, bytes, column.form.shape);
    else
      parts.add_list(column.form, bytes);
  }

  SplitFiles place_;
  Table table_;  ///< the path and the lines; columns_ has taken the columns
  fs::path folder_;
  std::shared_ptr<const RemoteAccess> access_;  ///< access to files on a server, else null
  std::unique_ptr<ParquetRows> rows_;           ///< null: columns_ hold the values
  bool has_picture_ = false;
  std::string picture_column_;
  Names picture_, recordings_;          ///< paths; `recordings_` are those of the only column of them
  std::vector<std::uint32_t> firsts_;   ///< the first row with the file of each row; empty: all have their own paths
  std::vector<SoundSegment> segments_;  ///< segments of the rows' recordings; empty: they are whole
  std::unique_ptr<const SoundForms> sounds_;
  std::vector<ManifestColumn> columns_;
  std::vector<PartForm> forms_;  ///< forms of columns_
  std::vector<std::int32_t> labels_;
  Texts classes_;
};

std::unique_ptr<Dataset> make_parquet_manifest(SplitFiles place, std::shared_ptr<const RemoteAccess> access,
                                               const Settings& settings, const DatasetInput& input) {
  if (settings.texts("files") != Texts{"auto"})
    throw settings.error("files", place.place + " is Parquet, whose columns hold no paths");
  const auto most_bytes = static_cast<std::uint64_t>(settings.integer("row_groups_mb")) << 20;
  auto rows = std::make_unique<ParquetRows>(place.paths, access, most_bytes);
  auto table = rows->table(place.place);
  if (table.rows() == 0) throw EmptyDataset(place.place + ": the table has no rows");
  return std::make_unique<Manifest>(std::move(place), std::move(table), std::move(rows), settings, input.parts,
                                    std::move(access));
}

/// Reads a table of a server whole.
Table fetch_table(const std::string& url, const std::shared_ptr<const RemoteAccess>& access) {
  const auto shown = public_name(url);
  try {
    const RemoteFile file(url, access);
    std::string text(file.size_bytes(), '\0');
    read_exactly(file, 0, std::as_writable_bytes(std::span(text)));
    return parse_table(shown, std::move(text));
  } catch (const RemoteError& error) {
    throw UserError(ExitCode::data, concat(shown, ": ", error.what()), error.hint());
  }
}

std::unique_ptr<Dataset> make_manifest(const Settings& settings, const DatasetInput& input) {
  std::vector<std::string_view> endings(std::begin(table_endings), std::end(table_endings));
  endings.emplace_back("parquet");
  const bool remote = is_remote(settings.text("path"));
  auto place = remote ? find_remote_files(settings, endings) : find_split_files(settings, input.training, endings);
  auto access = remote ? remote_access(settings) : nullptr;
  if (std::ranges::all_of(place.paths, [](const auto& path) { return ending_of(public_name(path)) == "parquet"; }))
    return make_parquet_manifest(std::move(place), std::move(access), settings, input);
  if (place.paths.size() > 1)
    throw settings.error(settings.text("split").empty() ? "path" : "split",
                         concat("there are several tables in ", place.place, ": ",
                                join(place.paths, ", ", [](const auto& path) { return public_name(path); })),
                         ExitCode::data, "name one of them");
  auto table = remote ? fetch_table(place.paths.front(), access) : read_table(place.paths.front());
  return std::make_unique<Manifest>(std::move(place), std::move(table), nullptr, settings, input.parts,
                                    std::move(access));
}

}  // namespace

DatasetEntry manifest_entry() {
  std::vector<Key> keys{
      {"files", Kind::texts, Texts{"auto"},
       "columns of paths, relative to the table's folder or absolute; auto: those called image, file, path, filename, "
       "file_name, audio or audio_filepath whose values have endings"},
      {"label", Kind::text, "auto",
       "column of the class: texts, whose sorted order numbers them, or class indices; auto: label, class or target, "
       "if it is one; empty: none"},
      {"labels", Kind::text, "auto",
       "column of several classes: a JSON list, or texts with ; or | between; auto: labels; empty: none"},
      {"class_names", Kind::texts, Texts(), "names of the classes, in label order; default: those there"},
      {"begin", Kind::text, "auto",
       "column of the second at which a row's part of its recording begins; auto: begin, start or offset; empty: the "
       "recording's beginning"},
      {"end", Kind::text, "auto",
       "column of the second at which it ends; auto: end or stop, or else duration, counted from its begin; empty: the "
       "recording's end"},
      {"row_groups_mb", Kind::integer, 512, "memory for decoded groups of rows of Parquet files", 1, 1 << 20},
      split_names_key()};
  for (auto& key : remote_keys()) keys.push_back(std::move(key));
  return {
      .name = "manifest",
      .help =
          "samples that a table lists: .csv, .tsv, JSON lines (.jsonl, .ndjson) or .parquet, or a folder with tables; "
          "columns are paths of files (the first of images is the sample's own; of recordings rows may be segments), "
          "texts, numbers and lists of them; of Parquet also the bytes of files, and a folder may have many, or a "
          "server (https://, s3://: a file or a pattern). split: a table or a sub-folder of path; default: train, or "
          "val (else test) to validate, by their usual names",
      .keys = std::move(keys),
      .make = make_manifest};
}

}  // namespace flowtrain
