#include "pipeline/inference/predict/given_records.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "pipeline/base/config/source_groups.h"
#include "pipeline/base/telemetry/json_text.h"
#include "sampling/audio/sound.h"
#include "sampling/codecs/encode.h"
#include "sampling/core/error.h"
#include "sampling/core/mistake.h"
#include "sampling/core/registry.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/datasets/tables/columns.h"
#include "sampling/datasets/tables/table.h"
#include "sampling/datasets/text/token_shard.h"
#include "sampling/field_parts.h"
#include "sampling/io/files.h"
#include "sampling/parts/part_collector.h"

namespace flowtrain {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The columns and keys that name a record's own picture, as in the data set `manifest`.
constexpr std::string_view picture_keys[] = {"image", "file", "path", "filename", "file_name"};

// The ending of an address stands before its query.
bool is_parquet(const std::string& path) {
  return ending_of(is_remote(path) ? path.substr(0, path.find_first_of("?#")) : path) == "parquet";
}

bool is_among(const auto& list, const std::string& name) { return std::ranges::find(list, name) != std::end(list); }

template <class Number>
void append_bytes(std::vector<std::byte>& bytes, Number number) {
  const auto* const begin = reinterpret_cast<const std::byte*>(&number);
  bytes.insert(bytes.end(), begin, begin + sizeof number);
}

// Appends the numbers of a value, whose first axis is axis `axis` of the part.
void append_numbers(const json& value, std::size_t axis, const PartForm& form, GivenPart& part) {
  if (axis < form.shape.size()) {
    if (!value.is_array())
      throw SampleError(concat("the part '", form.name, "' needs ",
                               form.shape.size() > 1 ? "lists within each other" : "a list of numbers", ": ",
                               value.dump().substr(0, 50)));
    const auto size = static_cast<std::int64_t>(value.size());
    if (part.shape.size() == axis) part.shape.push_back(size);
    if (part.shape[axis] != size || (form.shape[axis] >= 0 && form.shape[axis] != size))
      throw SampleError(concat("the part '", form.name, "' has a list of ", size, " values, where ",
                               form.shape[axis] >= 0 ? form.shape[axis] : part.shape[axis], " are expected"));
    for (auto& each : value) append_numbers(each, axis + 1, form, part);
    return;
  }
  if (!value.is_number() && !value.is_boolean())
    throw SampleError(concat("the part '", form.name, "' needs numbers: ", value.dump().substr(0, 50)));
  const auto number = value.is_boolean() ? static_cast<double>(value.get<bool>()) : value.get<double>();
  const auto refuse = [&] {
    throw SampleError(concat("the part '", form.name, "' needs numbers of ", name_of(form.dtype), ": ", value.dump()));
  };
  if (form.dtype == DType::f32) {
    if (!std::isfinite(static_cast<float>(number))) refuse();
    return append_bytes(part.bytes, static_cast<float>(number));
  }
  const bool fits = value.is_number_unsigned()  ? value.get<std::uint64_t>() <= INT64_MAX
                    : value.is_number_integer() ? true
                                                : number >= -0x1p63 && number < 0x1p63;
  if (std::floor(number) != number || !fits) refuse();
  const auto whole = value.is_number_integer() ? value.get<std::int64_t>() : static_cast<std::int64_t>(number);
  const std::int64_t most = form.dtype == DType::u8 ? 255 : INT32_MAX, least = form.dtype == DType::u8 ? 0 : INT32_MIN;
  if (form.dtype != DType::i64 && (whole < least || whole > most)) refuse();
  if (form.dtype == DType::u8) return append_bytes(part.bytes, static_cast<std::uint8_t>(whole));
  if (form.dtype == DType::i32) return append_bytes(part.bytes, static_cast<std::int32_t>(whole));
  append_bytes(part.bytes, whole);
}

// Returns the part as a text gives it, with paths relative to `folder`. `in_files`: texts are in files.
GivenPart part_from(const PartForm& form, const std::string& text, const fs::path& folder, bool in_files) {
  const bool is_array = form.encoding == Encoding::array;
  if (is_array ? ending_of(text) == "npy" : form.encoding != Encoding::text || in_files)
    return {.path = (folder / text).string()};
  GivenPart part;
  if (!is_array) {
    const auto bytes = std::as_bytes(std::span(text));
    part.bytes.assign(bytes.begin(), bytes.end());
    return part;
  }
  const auto value = parse_json<json>(text);
  if (value.is_discarded())
    throw SampleError(concat("the part '", form.name, "' needs ", form.shape.empty() ? "a number" : "a list of numbers",
                             ": ", text.substr(0, 50)));
  append_numbers(value, 0, form, part);
  while (part.shape.size() < form.shape.size())  // the list is empty
    part.shape.push_back(std::max<std::int64_t>(form.shape[part.shape.size()], 0));
  return part;
}

// One record that was given by hand.
class GivenRecord final : public Dataset {
 public:
  /// `name`: the path of the file that it is, which messages need not name again; empty: it is none.
  explicit GivenRecord(const LearntParts& parts, std::string name = {}) : forms_(parts.forms), name_(std::move(name)) {
    for (auto& form : forms_) values_.push_back(blank_part(form));
  }

  void set(std::size_t part, GivenPart value) { values_[part] = std::move(value); }
  void set_picture(std::string path) { picture_ = std::move(path); }

  std::uint64_t size() const override { return 1; }
  std::int64_t label(std::uint64_t) const override { return -1; }
  std::vector<std::string> classes() const override { return {}; }
  std::string describe(std::uint64_t) const override { return "a record"; }
  Record read(std::uint64_t, ReadBuffer& buffer) const override {
    Record record{.encoding = picture_.empty() ? Encoding::bytes : Encoding::image};
    PartCollector parts(buffer);
    if (!picture_.empty())
      with_file(picture_, [&](const Descriptor& file) { parts.read_picture(file, 0, file.size_bytes()); });
    for (std::size_t i = 0; i < forms_.size(); ++i) {
      const GivenPart& value = values_[i];
      if (value.path.empty())
        parts.add(forms_[i], value.bytes, value.shape);
      else
        with_file(value.path, [&](const Descriptor& file) {
          if (value.segment.is_whole())
            parts.read(forms_[i], file, 0, file.size_bytes());
          else
            parts.read_segment(forms_[i], file, 0, file.size_bytes(), value.segment.begin, value.segment.end);
        });
    }
    parts.finish(record);
    return record;
  }

 private:
  void with_file(const std::string& path, const auto& body) const try {
    body(Descriptor::file(path.c_str()));
  } catch (const std::system_error& error) {
    throw damage(path, error.code().message());
  } catch (const std::runtime_error& error) {
    throw damage(path, error.what());
  } catch (const std::invalid_argument& error) {
    throw damage(path, error.what());
  }
  SampleError damage(const std::string& path, const std::string& what) const {
    return SampleError(path == name_ ? what : as_utf8(path) + ": " + what);
  }

  const std::vector<PartForm>& forms_;
  const std::string name_;
  std::vector<GivenPart> values_;
  std::string picture_;
};

// Returns the column of a name; null if there is none.
const TableColumn* column_of(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table.columns, name, &TableColumn::name);
  return found == table.columns.end() ? nullptr : &*found;
}

}  // namespace

Input RecordFinder::input_of(std::string name, const Table& table, std::size_t row, bool of_request,
                             const SoundSegment& segment) const try {
  // The path of a request is no place: its files are relative to the current folder.
  const fs::path folder = of_request ? fs::path() : fs::path(table.path).parent_path();
  auto record = std::make_shared<GivenRecord>(parts_);
  for (std::size_t i = 0; i < parts_.forms.size(); ++i) {
    const auto& form = parts_.forms[i];
    if (is_among(parts_.targets, form.name)) continue;
    const TableColumn* const column = column_of(table, form.name);
    const bool is_null = !column || (of_request && column->kinds == 0);
    const std::string value(is_null ? std::string_view() : column->cells[row]);
    const bool in_files = !is_null && holds_files(*column, of_request);
    if (is_null || (value.empty() && (in_files || form.encoding != Encoding::text)))
      return {.name = std::move(name), .problem = concat("it lacks '", form.name, "', which the net learnt from")};
    GivenPart part = part_from(form, value, folder, in_files);
    if (form.encoding == Encoding::audio) part.segment = segment;
    record->set(i, std::move(part));
  }
  for (const auto key : picture_keys) {
    if (!parts_.picture) break;
    const TableColumn* const column = column_of(table, key);
    if (!column || !is_picture(column->cells[row])) continue;
    record->set_picture((folder / column->cells[row]).string());
    return {.name = std::move(name), .records = std::move(record)};
  }
  if (parts_.picture)
    return {.name = std::move(name), .problem = "it names no picture: the key \"image\" has the path"};
  return {.name = std::move(name), .records = std::move(record)};
} catch (const SampleError& error) {
  return {.name = std::move(name), .problem = error.what()};
}

bool RecordFinder::holds_files(const TableColumn& column, bool of_request) const {
  const auto& data = config_.data(false);
  const auto& kind = data.text("dataset");
  if (kind == "manifest") return is_file_column(column, data.texts("files"));
  if (kind != "webdataset" || of_request) return false;
  for (std::size_t row = 0; row < column.cells.size(); ++row)
    if (!is_among(std::array{"", "txt", "json"}, ending_of(column.cells[row]))) return false;
  return looks_like_files(column);
}

bool only_groups(const Config& config, const Settings& field) {
  return field.text("as") == "bytes" && field.text("name") == *config.val().group_by;
}

LearntParts LearntParts::of(const Config& config, std::vector<PartForm> forms) {
  const auto fields = validation_fields(config);
  std::vector<std::string> inputs, classes;
  for (auto& field : fields) {
    const FieldParts own = parts_of(field);
    auto& used = only_groups(config, field) ? classes : inputs;
    used.insert(used.end(), own.inputs.begin(), own.inputs.end());
    classes.insert(classes.end(), own.classes.begin(), own.classes.end());
  }
  LearntParts parts{.forms = std::move(forms), .targets = {}, .picture = fields.empty()};
  for (auto& field : fields)
    if (field.has("rate"))
      parts.channels = static_cast<std::uint32_t>(
          std::max({std::int64_t{parts.channels}, field.has("channels") ? field.integer("channels") : 1,
                    field.integer("channel") + 1}));
  std::erase_if(parts.forms, [&](auto& form) { return !is_among(inputs, form.name) && !is_among(classes, form.name); });
  for (auto& form : parts.forms)
    if (!is_among(inputs, form.name)) parts.targets.push_back(form.name);
  parts.picture = parts.picture || is_among(inputs, "") || is_among(inputs, image_part);
  return parts;
}

std::string LearntParts::names() const {
  std::vector<std::string> all;
  if (picture) all.emplace_back(image_part);
  for (auto& form : forms)
    if (!is_among(targets, form.name)) all.push_back(form.name);
  return join(all);
}

const PartForm* LearntParts::recording() const {
  const PartForm* only = nullptr;
  if (picture || forms.size() != targets.size() + 1) return only;
  for (auto& form : forms)
    if (form.encoding == Encoding::audio && !is_among(targets, form.name)) only = &form;
  return only;
}

GivenPart blank_part(const PartForm& form, std::uint32_t channels) {
  GivenPart part;
  if (form.encoding == Encoding::array) {
    for (const auto extent : form.shape) part.shape.push_back(extent < 0 ? 2 : extent);
    part.bytes.resize(elements_of(part.shape) * size_of(form.dtype));
  } else if (form.encoding == Encoding::image) {
    Image grey;
    grey.reshape(8, 8, 3);
    std::ranges::fill(grey.pixels, std::uint8_t{128});
    part.bytes = encode_png(grey.view());
  } else if (form.encoding == Encoding::audio) {
    Sound tone{.samples = {}, .channels = channels, .rate = 16000};
    for (int frame = 0; frame < 4000; ++frame)
      tone.samples.resize(tone.samples.size() + channels, frame & 16 ? .2F : -.2F);
    encode_wav(tone, part.bytes);
  } else {
    const auto text = std::as_bytes(std::span(std::string_view("-0.0")));  // is a number, and several tokens
    part.bytes.assign(text.begin(), text.end());
  }
  return part;
}

bool RecordFinder::takes(const std::string& path) const {
  if (is_parquet(path)) return true;
  if (is_remote(path)) return false;
  if (is_among(table_endings, ending_of(path))) return true;
  if (parts_.forms.empty() || files().fits(path)) return false;
  std::error_code ignored;
  if (parts_.recording())  // a folder without Kaldi's lists is one of recordings
    return config_.data(false).text("dataset") == "kaldi" && fs::exists(fs::path(path) / "wav.scp", ignored);
  return fs::is_regular_file(path, ignored) || fs::is_directory(path, ignored);
}

std::vector<Input> RecordFinder::find(const std::string& path) const try {
  const bool is_table = is_among(table_endings, ending_of(path));
  if (is_table && !parts_.recording()) return rows_of(path);
  const auto& kind = config_.data(false).text("dataset");
  std::error_code ignored;
  const bool of_kind = is_table || is_parquet(path) || fs::is_directory(path, ignored) ||
                       (kind == "webdataset" && ending_of(path) == "tar") ||
                       (kind == "tokens" && ending_of(path) == token_shard_ending) ||
                       (kind == "tensors" && is_among(std::array{"npz", "safetensors"}, ending_of(path)));
  if (of_kind) return records_of(path);
  return {only_part(path)};
} catch (const UserError& error) {
  return {{.name = path, .problem = first_line(error.what())}};
}

bool RecordFinder::needs_rows() const { return needed() > 1 || (needed() == 1 && parts_.picture); }

std::optional<Input> RecordFinder::file(const std::string& path) const {
  if (needed() == 0 || parts_.recording()) return std::nullopt;
  return only_part(path);
}

Input RecordFinder::only_part(const std::string& path) const try {
  if (parts_.picture || needed() != 1)
    return {.name = path, .problem = concat("the net learnt from ", parts_.names(), ": give a table (.jsonl, .csv)")};
  // The data set `text` leaves out marks, and refuses files that are no texts.
  if (config_.data(false).text("dataset") == "text") {
    auto whole = records_of(path);
    if (whole.size() != 1) return {.name = path, .problem = "there is no text in it"};
    whole.front().name = path;
    return std::move(whole.front());
  }
  auto record = std::make_shared<GivenRecord>(parts_, path);
  for (std::size_t i = 0; i < parts_.forms.size(); ++i)
    if (!is_among(parts_.targets, parts_.forms[i].name)) record->set(i, {.path = path});
  return {.name = path, .records = std::move(record)};
} catch (const UserError& error) {
  return {.name = path, .problem = first_line(error.what())};
}

std::optional<Input> RecordFinder::row(std::string request) const try {
  if (parts_.forms.empty()) return std::nullopt;
  Table table{.path = "the request"};
  read_json_lines(request, 0, table);
  const auto given = [&](const PartForm& form) { return column_of(table, form.name) != nullptr; };
  if (std::ranges::none_of(parts_.forms, given)) return std::nullopt;
  const auto segments = segments_of(table);
  return input_of("", table, 0, /*of_request=*/true, segments.empty() ? SoundSegment() : segments.front());
} catch (const UserError& error) {
  return Input{.name = "", .problem = first_line(error.what())};
}

std::string RecordFinder::example() const {
  if (needed() == 0 || parts_.recording())
    return concat(R"({"file": ")", parts_.recording() ? "a.wav" : "a.jpg", R"(", "id": 1})");
  std::string line = parts_.picture ? R"({"image": "a.jpg", )" : "{";
  for (auto& form : parts_.forms) {
    if (is_among(parts_.targets, form.name)) continue;
    const bool is_array = form.encoding == Encoding::array;
    const char* const value = is_array                           ? form.shape.empty() ? "1" : "[1, 2]"
                              : form.encoding == Encoding::text  ? "\"…\""
                              : form.encoding == Encoding::audio ? "\"a.wav\""
                                                                 : "\"FILE\"";
    line += concat('"', form.name, "\": ", value, ", ");
  }
  return line + "\"id\": 1}";
}

Settings RecordFinder::table_settings() const {
  Settings data = config_.data(false);
  return data.text("dataset") == "manifest" ? data : usual_table_settings();
}

Settings usual_table_settings() { return {"data", datasets().at("manifest").keys}; }

std::vector<SoundSegment> RecordFinder::segments_of(const Table& table) const {
  const auto is_recording = [&](const PartForm& form) {
    return form.encoding == Encoding::audio && !is_among(parts_.targets, form.name);
  };
  if (std::ranges::count_if(parts_.forms, is_recording) != 1) return {};
  return read_segments(table, find_segment_columns(table, table_settings()));
}

std::vector<Input> RecordFinder::rows_of(const std::string& path) const {
  const Table table = read_table(path);
  const auto segments = segments_of(table);
  std::vector<Input> inputs;
  for (std::size_t row = 0; row < table.rows(); ++row)
    inputs.push_back(input_of(concat(path, ":", table.lines[row]), table, row, /*of_request=*/false,
                              segments.empty() ? SoundSegment() : segments[row]));
  return inputs;
}

// Opens data as the data set that the net was trained on. A table has no classes, whatever that was.
std::shared_ptr<const Dataset> RecordFinder::open_records(const std::string& path, const DatasetInput& input) const {
  Settings settings = config_.data(false);
  const auto set = [&](const char* key, const Value& value) { settings.set(key, value, {"INPUT"}); };
  const bool is_table = is_among(table_endings, ending_of(path));
  if (is_parquet(path) || (is_table && settings.text("dataset") != "manifest")) {
    auto keys = datasets().at("manifest").keys;
    for (const char* const key : {"path", "split", "dataset"})
      keys.push_back({key, Kind::text, std::string(), "names the input"});
    settings = Settings("data", std::move(keys));
    set("dataset", std::string("manifest"));
  }
  if (is_parquet(path) || is_table) {
    set("label", std::string());
    set("labels", std::string());
  }
  std::error_code ignored;
  if (settings.text("dataset") == "text" && !fs::is_directory(path, ignored)) {  // a file is one input
    set("unit", std::string("file"));
    set("window", std::int64_t{0});
    set("files", find_key(settings.keys(), "files")->fallback);
  }
  set("path", path);
  set("split", std::string());
  return make_named(datasets(), settings, input, "dataset");
}

std::vector<Input> RecordFinder::records_of(const std::string& path) const {
  DatasetInput input{.training = false, .parts = {}};
  for (auto& form : parts_.forms)
    if (!is_among(parts_.targets, form.name)) input.parts.push_back(form.name);
  const std::shared_ptr<const Dataset> records = open_records(path, input);
  const auto forms = records->parts();
  for (auto& form : parts_.forms) {
    if (is_among(parts_.targets, form.name)) continue;
    const auto found = std::ranges::find(forms, form.name, &PartForm::name);
    if (found == forms.end()) {
      const auto there = join(forms, ", ", [](auto& other) { return other.name; });
      throw UserError(ExitCode::data, concat(path, ": it has no part '", form.name, "', which the net learnt from",
                                             there.empty() ? "" : "; its parts: ", there));
    }
    if (found->encoding != form.encoding || found->dtype != form.dtype || found->shape.size() != form.shape.size())
      throw UserError(ExitCode::data,
                      concat(path, ": its parts '", form.name, "' are not as those that the net learnt from"));
  }
  std::vector<Input> inputs;
  inputs.reserve(records->size());
  for (std::uint64_t id = 0; id < records->size(); ++id)
    inputs.push_back({.name = records->describe(id), .records = records, .record = id});
  return inputs;
}

}  // namespace flowtrain
