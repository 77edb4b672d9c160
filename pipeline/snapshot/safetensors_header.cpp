#include "pipeline/snapshot/safetensors_header.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "sampling/core/error.h"

namespace flowtrain {
namespace {

using nlohmann::json;

constexpr std::size_t max_dimensions = 64;  // torch's own bound
constexpr std::size_t max_name_bytes = 4096, max_metadata = 4096;
constexpr std::size_t alignment_bytes = 64;
constexpr const char* metadata_key = "__metadata__";

/// Takes the parser's events. What may come next depends on the place alone, and places do not nest deeper than
/// this list, so a deep document ends at its first surplus bracket.
class HeaderReader : public nlohmann::json_sax<json> {
 public:
  Header header;
  std::string error;

  bool start_object(std::size_t) override {
    switch (place_) {
      case Place::start: place_ = Place::top; return true;
      case Place::tensor: place_ = Place::fields; return true;
      case Place::metadata: place_ = Place::metadata_keys; return true;
      default: return unexpected("an object");
    }
  }
  bool end_object() override {
    if (place_ == Place::fields) {
      for (const char* field : {"dtype", "shape", "data_offsets"})
        if (!fields_.contains(field)) return fail("tensor " + shown(entry().name) + " has no '" + field + "'");
      fields_.clear();
    }
    place_ = place_ == Place::top ? Place::start : Place::top;
    return true;
  }
  bool start_array(std::size_t) override {
    if (place_ == Place::shape)
      place_ = Place::sizes;
    else if (place_ == Place::offsets)
      place_ = Place::two_offsets;
    else
      return unexpected("a list");
    return true;
  }
  bool end_array() override {
    if (place_ == Place::two_offsets && offsets_.size() != 2)
      return fail("tensor " + shown(entry().name) + ": data_offsets must be two numbers");
    if (place_ == Place::two_offsets) {
      entry().begin = offsets_[0];
      entry().end = offsets_[1];
    }
    place_ = Place::fields;
    return true;
  }
  bool key(std::string& name) override {
    if (place_ == Place::top) return top_key(name);
    if (place_ == Place::metadata_keys) {
      if (header.metadata.size() == max_metadata) return fail("more than 4096 entries of metadata");
      if (header.metadata.contains(name)) return fail("metadata " + shown(name) + " comes twice");
      name_ = name;
      place_ = Place::metadata_value;
      return true;
    }
    if (!fields_.insert(name).second)
      return fail("tensor " + shown(entry().name) + ": " + shown(name) + " comes twice");
    if (name == "dtype")
      place_ = Place::dtype;
    else if (name == "shape")
      place_ = Place::shape;
    else if (name == "data_offsets")
      place_ = Place::offsets;
    else
      return fail("tensor " + shown(entry().name) + ": unknown field " + shown(name));
    offsets_.clear();
    return true;
  }
  bool string(std::string& text) override {
    if (place_ == Place::dtype) {
      entry().dtype = text;
      place_ = Place::fields;
      return true;
    }
    if (place_ != Place::metadata_value) return unexpected("a text");
    header.metadata.emplace(name_, text);
    place_ = Place::metadata_keys;
    return true;
  }
  bool number_unsigned(std::uint64_t number) override {
    if (place_ == Place::two_offsets) {
      if (offsets_.size() == 2) return fail("tensor " + shown(entry().name) + ": data_offsets must be two numbers");
      offsets_.push_back(number);
      return true;
    }
    if (place_ != Place::sizes) return unexpected("a number");
    if (entry().shape.size() == max_dimensions)
      return fail("tensor " + shown(entry().name) + ": more than 64 dimensions");
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return fail("tensor " + shown(entry().name) + ": the shape overflows");
    entry().shape.push_back(static_cast<std::int64_t>(number));
    return true;
  }
  bool null() override { return unexpected("a null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(std::int64_t) override { return unexpected("a negative number"); }
  // An integer too large for 64 bits comes as a float, too.
  bool number_float(double, const std::string&) override { return unexpected("a fraction or a huge number"); }
  bool binary(json::binary_t&) override { return unexpected("binary data"); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return fail("the header is not valid JSON at byte " + std::to_string(position));
  }

 private:
  /// Where the reader is: what was just opened, or the value of which key comes next.
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

  HeaderEntry& entry() { return header.entries.back(); }
  bool fail(const std::string& what) {
    error = what;
    return false;
  }
  bool unexpected(const char* what) {
    const bool in_tensor = place_ >= Place::tensor && place_ <= Place::two_offsets;
    return fail((in_tensor ? "tensor " + shown(entry().name) : "the header") + ": " + what +
                " in the place of something else");
  }
  bool top_key(const std::string& name) {
    if (name.size() > max_name_bytes) return fail("tensor " + shown(name) + " has a name of more than 4096 bytes");
    if (header.entries.size() == max_tensors) return fail("more than 65536 tensors");
    if (!names_.insert(name).second) return fail("tensor " + shown(name) + " comes twice");
    if (name == metadata_key) {
      place_ = Place::metadata;
    } else {
      header.entries.emplace_back().name = name;
      place_ = Place::tensor;
    }
    return true;
  }

  Place place_ = Place::start;
  std::string name_;  // of the metadata whose value comes next
  std::vector<std::uint64_t> offsets_;
  std::unordered_set<std::string> names_;   // of tensors so far
  std::unordered_set<std::string> fields_;  // of the current tensor so far
};

/// As JSON writes it. Throws json::type_error for what is not UTF-8.
std::string quoted(const std::string& text) { return json(text).dump(); }

}  // namespace

std::string shown(std::string_view name) {
  constexpr std::size_t longest = 80;
  std::string text = "'";
  for (char c : name.substr(0, longest)) text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return text + (name.size() > longest ? "…'" : "'");
}

Header parse_header(std::string_view text, const std::string& path) {
  if (!text.starts_with('{')) throw UserError(ExitCode::snapshot, path + ": the header does not begin with '{'");
  HeaderReader reader;
  if (!json::sax_parse(text.begin(), text.end(), &reader))
    throw UserError(ExitCode::snapshot, path + ": " + reader.error);
  return std::move(reader.header);
}

std::string make_header(std::span<const TensorView> tensors, const SafetensorsMetadata& metadata) try {
  // As text, not as a tree of nlohmann's: its destructor allocates, and ends the program where memory runs out.
  std::string text = "{";
  const auto put = [&](const auto&... pieces) { ((text += pieces), ...); };
  const auto begin_member = [&](const std::string& name) { put(text.back() == '{' ? "" : ",", quoted(name), ":"); };
  if (!metadata.empty()) {
    begin_member(metadata_key);
    put("{");
    for (const auto& [name, value] : metadata) {
      begin_member(name);
      put(quoted(value));
    }
    put("}");
  }
  std::unordered_set<std::string> names = {metadata_key};
  std::uint64_t offset = 0;
  for (const auto& tensor : tensors) {
    if (!names.insert(tensor.name).second)
      throw InternalError("a snapshot cannot hold two tensors called '" + tensor.name + "'");
    begin_member(tensor.name);
    put("{\"dtype\":", quoted(tensor.dtype), ",\"shape\":[");
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) put(i == 0 ? "" : ",", std::to_string(tensor.shape[i]));
    put("],\"data_offsets\":[", std::to_string(offset), ",", std::to_string(offset + tensor.bytes), "]}");
    offset += tensor.bytes;
  }
  put("}");
  const auto used = (text.size() + sizeof(std::uint64_t)) % alignment_bytes;
  if (used != 0) text.append(alignment_bytes - used, ' ');
  return text;
} catch (const json::type_error&) {
  throw InternalError("a tensor's name is not UTF-8");
}

}  // namespace flowtrain
