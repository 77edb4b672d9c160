#include "sampling/core/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "sampling/core/error.h"

namespace flowtrain {
namespace {

using nlohmann::json;

constexpr std::size_t max_dimensions = 64;  // torch's own limit
constexpr std::size_t max_name_bytes = 4096, max_metadata = 4096;
constexpr const char* metadata_key = "__metadata__";

/// One tensor as the header states it: name, dtype and shape (each size ≥ 0), and its data_offsets, counted from the
/// end of the header. Each field was present exactly once.
struct HeaderEntry : TensorView {
  std::uint64_t begin = 0, end = 0;
};

struct TensorHeader {
  std::vector<HeaderEntry> entries;  ///< entries in the order of the text; names differ
  SafetensorsMetadata metadata;
};

/// Reads the header in one pass without a tree, so that a hostile one costs no memory. The next token depends on the
/// place only, and places do not nest deeper than this list, so a deep document ends at its first surplus bracket.
class HeaderReader : public nlohmann::json_sax<json> {
 public:
  TensorHeader header;
  std::string error;

  bool start_object(std::size_t) override {
    if (place_ == Place::start) return go_on(Place::top);
    if (place_ == Place::tensor) return go_on(Place::fields);
    return place_ == Place::metadata ? go_on(Place::metadata_keys) : unexpected("an object");
  }
  bool end_object() override {
    if (place_ == Place::fields) {
      for (const auto& [field, place] : tensor_fields)
        if (!fields_.contains(field)) return fail_tensor(std::string(" has no '") + field + "'");
      fields_.clear();
    }
    return go_on(place_ == Place::top ? Place::start : Place::top);
  }
  bool start_array(std::size_t) override {
    if (place_ == Place::shape) return go_on(Place::sizes);
    return place_ == Place::offsets ? go_on(Place::two_offsets) : unexpected("a list");
  }
  bool end_array() override {
    if (place_ == Place::two_offsets) {
      if (offsets_.size() != 2) return fail_tensor(": data_offsets must be two numbers");
      entry().begin = offsets_[0];
      entry().end = offsets_[1];
    }
    return go_on(Place::fields);
  }
  bool key(std::string& name) override {
    if (place_ == Place::top) return top_key(name);
    if (place_ == Place::metadata_keys) {
      if (header.metadata.size() == max_metadata) return fail("more than 4096 entries of metadata");
      if (header.metadata.contains(name)) return fail("metadata " + shown(name) + " occurs twice");
      name_ = name;
      return go_on(Place::metadata_value);
    }
    if (!fields_.insert(name).second) return fail_tensor(": " + shown(name) + " occurs twice");
    offsets_.clear();
    for (const auto& [field, place] : tensor_fields)
      if (name == field) return go_on(place);
    return fail_tensor(": unknown field " + shown(name));
  }
  bool string(std::string& text) override {
    if (place_ == Place::dtype) {
      entry().dtype = text;
      return go_on(Place::fields);
    }
    if (place_ != Place::metadata_value) return unexpected("a text");
    header.metadata.emplace(name_, text);
    return go_on(Place::metadata_keys);
  }
  bool number_unsigned(std::uint64_t number) override {
    if (place_ == Place::two_offsets) {
      if (offsets_.size() == 2) return fail_tensor(": data_offsets must be two numbers");
      offsets_.push_back(number);
      return true;
    }
    if (place_ != Place::sizes) return unexpected("a number");
    if (entry().shape.size() == max_dimensions) return fail_tensor(": more than 64 dimensions");
    if (!std::in_range<std::int64_t>(number)) return fail_tensor(": the shape overflows");
    entry().shape.push_back(static_cast<std::int64_t>(number));
    return true;
  }
  bool null() override { return unexpected("a null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(std::int64_t) override { return unexpected("a negative number"); }
  // An integer too large for 64 bits is parsed as a float, too.
  bool number_float(double, const std::string&) override { return unexpected("a fraction or a huge number"); }
  bool binary(json::binary_t&) override { return unexpected("binary data"); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return fail("the header is not valid JSON at byte " + std::to_string(position));
  }

 private:
  /// The place of the reader: the bracket that was just opened, or the key whose value comes next.
  enum class Place {
    start,
    top,
    tensor,
    fields,
    dtype,
    shape,
    sizes,
    offsets,
    two_offsets,
    metadata,
    metadata_keys,
    metadata_value
  };

  static constexpr std::pair<const char*, Place> tensor_fields[] = {
      {"dtype", Place::dtype}, {"shape", Place::shape}, {"data_offsets", Place::offsets}};

  HeaderEntry& entry() { return header.entries.back(); }
  bool go_on(Place at) {
    place_ = at;
    return true;
  }
  bool fail(const std::string& what) {
    error = what;
    return false;
  }
  bool fail_tensor(const std::string& what) { return fail("tensor " + shown(entry().name) + what); }
  bool unexpected(const std::string& what) {
    const std::string rest = ": " + what + " is not allowed here";
    const bool in_tensor = place_ >= Place::tensor && place_ <= Place::two_offsets;
    return in_tensor ? fail_tensor(rest) : fail("the header" + rest);
  }
  bool top_key(const std::string& name) {
    if (name.size() > max_name_bytes) return fail("tensor " + shown(name) + " has a name of more than 4096 bytes");
    if (header.entries.size() == max_tensors) return fail("more than 65536 tensors");
    if (!names_.insert(name).second) return fail("tensor " + shown(name) + " occurs twice");
    if (name == metadata_key) return go_on(Place::metadata);
    header.entries.emplace_back().name = name;
    return go_on(Place::tensor);
  }

  Place place_ = Place::start;
  std::string name_;  // name of the metadata whose value comes next
  std::vector<std::uint64_t> offsets_;
  std::unordered_set<std::string> names_;   // names of tensors so far
  std::unordered_set<std::string> fields_;  // fields of the current tensor so far
};

/// Parses the header. Throws UserError(snapshot) "PATH: <problem>". Offsets and sizes are not compared.
TensorHeader parse_header(std::string_view text, const std::string& path) {
  if (!text.starts_with('{')) throw UserError(ExitCode::snapshot, path + ": the header does not begin with '{'");
  HeaderReader reader;
  if (!json::sax_parse(text.begin(), text.end(), &reader))
    throw UserError(ExitCode::snapshot, path + ": " + reader.error);
  return std::move(reader.header);
}

/// Checks one entry by itself and against the size of the data.
void check_entry(const HeaderEntry& entry, std::uint64_t data_bytes, const std::string& path) {
  const auto fail = [&](const std::string& what) -> void {
    throw UserError(ExitCode::snapshot, path + ": tensor " + shown(entry.name) + ": " + what);
  };
  const auto element = element_bytes(entry.dtype);
  if (element == 0) fail("unknown dtype " + shown(entry.dtype));
  if (entry.begin > entry.end || entry.end > data_bytes)
    fail("data_offsets [" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) + "] are not within the " +
         std::to_string(data_bytes) + " bytes of data (file cut short?)");
  std::uint64_t expected = 0;
  if (!tensor_bytes(entry.shape, element, expected)) fail("the shape overflows");
  if (entry.end - entry.begin != expected)
    fail(entry.dtype + " " + shape_text(entry.shape) + " takes " + std::to_string(expected) + " bytes, not " +
         std::to_string(entry.end - entry.begin));
}

}  // namespace

std::string shown(std::string_view name) {
  constexpr std::size_t longest = 80;
  std::string text = "'";
  for (char c : name.substr(0, longest)) text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return text + (name.size() > longest ? "…'" : "'");
}

std::uint64_t element_bytes(std::string_view dtype) {
  if (dtype == "F64" || dtype == "I64") return 8;
  if (dtype == "F32" || dtype == "I32") return 4;
  if (dtype == "F16" || dtype == "BF16" || dtype == "I16") return 2;
  if (dtype == "I8" || dtype == "U8" || dtype == "BOOL") return 1;
  return 0;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "(";
  for (auto size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + (shape.size() == 1 ? ",)" : ")");
}

bool tensor_bytes(std::span<const std::int64_t> shape, std::uint64_t element, std::uint64_t& bytes) {
  bytes = element;
  for (auto size : shape)
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) return false;
  return true;
}

SafetensorsContent parse_safetensors(std::span<const std::byte> bytes, const std::string& path) {
  return parse_safetensors(bytes, path, bytes.size());
}

SafetensorsContent parse_safetensors(std::span<const std::byte> beginning, const std::string& path,
                                     std::uint64_t file_bytes) {
  std::uint64_t header_bytes = 0;
  if (beginning.size() < sizeof(header_bytes))
    throw UserError(ExitCode::snapshot, path + ": " + std::to_string(file_bytes) + " bytes are no safetensors file");
  std::memcpy(&header_bytes, beginning.data(), sizeof(header_bytes));
  const auto rest = beginning.subspan(sizeof(header_bytes));
  if (header_bytes > max_header_bytes || header_bytes > rest.size())
    throw UserError(ExitCode::snapshot, path + ": not a safetensors file, or cut short: a header of " +
                                            std::to_string(header_bytes) + " bytes in " +
                                            std::to_string(file_bytes - sizeof(header_bytes)));
  auto header = parse_header({reinterpret_cast<const char*>(rest.data()), header_bytes}, path);
  const auto data_offset = sizeof(header_bytes) + header_bytes, data_bytes = file_bytes - data_offset;

  for (const auto& entry : header.entries) check_entry(entry, data_bytes, path);
  // A stable sort keeps the order of tensors without elements.
  std::ranges::stable_sort(header.entries, {}, [](const HeaderEntry& e) { return std::pair(e.begin, e.end); });
  std::uint64_t end = 0;
  SafetensorsContent content{{}, std::move(header.metadata)};
  content.tensors.reserve(header.entries.size());
  for (auto& entry : header.entries) {
    if (entry.begin != end)
      throw UserError(ExitCode::snapshot, path + ": tensor " + shown(entry.name) +
                                              (entry.begin < end ? " overlaps the one before" : " comes after a gap"));
    end = entry.end;
    entry.offset = data_offset + entry.begin;
    if (data_offset + entry.end <= beginning.size()) entry.data = beginning.data() + entry.offset;
    entry.bytes = entry.end - entry.begin;
    content.tensors.push_back(std::move(entry));
  }
  if (end != data_bytes)
    throw UserError(ExitCode::snapshot,
                    path + ": " + std::to_string(data_bytes - end) + " bytes after the last tensor");
  return content;
}

}  // namespace flowtrain
