#include "pipeline/base/snapshot/safetensors.h"

#include <bit>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "pipeline/base/snapshot/hash.h"
#include "sampling/core/error.h"

namespace flowtrain {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "lengths and tensors are written as they lie in memory");

constexpr std::size_t alignment_bytes = 64;
constexpr const char* metadata_key = "__metadata__";

/// Returns text as a JSON string. Throws json::type_error unless it is UTF-8.
std::string json_string(const std::string& text) { return json(text).dump(); }

/// Lists the data contiguously in this order; blanks are added up to a multiple of 64 bytes less the 8 of the length.
std::string make_header(std::span<const TensorView> tensors, const SafetensorsMetadata& metadata) try {
  // No tree of nlohmann's is built: its destructor allocates, and ends the program when memory runs out.
  std::string text = "{";
  const auto put = [&](const auto&... pieces) { ((text += pieces), ...); };
  const auto begin_member = [&](const std::string& name) {
    put(text.back() == '{' ? "" : ",", json_string(name), ":");
  };
  if (!metadata.empty()) {
    begin_member(metadata_key);
    put("{");
    for (const auto& [name, value] : metadata) {
      begin_member(name);
      put(json_string(value));
    }
    put("}");
  }
  std::unordered_set<std::string> names = {metadata_key};
  std::uint64_t offset = 0;
  for (const auto& tensor : tensors) {
    if (!names.insert(tensor.name).second)
      throw InternalError("a snapshot cannot hold two tensors called '" + tensor.name + "'");
    begin_member(tensor.name);
    put("{\"dtype\":", json_string(tensor.dtype), ",\"shape\":[");
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

}  // namespace

WrittenSafetensors write_safetensors(File& file, std::span<const TensorView> tensors,
                                     const SafetensorsMetadata& metadata) {
  for (const auto& tensor : tensors) {
    std::uint64_t expected = 0;
    const auto element = element_bytes(tensor.dtype);
    if (element == 0 || !tensor_bytes(tensor.shape, element, expected) || expected != tensor.bytes)
      throw InternalError("tensor '" + tensor.name + "' of " + tensor.dtype + " " + shape_text(tensor.shape) +
                          " cannot have " + std::to_string(tensor.bytes) + " bytes");
  }
  const std::string header = make_header(tensors, metadata);
  const std::uint64_t header_bytes = header.size();
  if (header_bytes > max_header_bytes || tensors.size() > max_tensors)
    throw InternalError("the names of " + std::to_string(tensors.size()) + " tensors do not fit a safetensors header");

  Xxh64 hash;
  WrittenSafetensors written;
  const auto put = [&](std::span<const std::byte> bytes) {
    file.write(bytes);
    hash.update(bytes);
    written.bytes += bytes.size();
  };
  put(std::as_bytes(std::span(&header_bytes, 1)));
  put(std::as_bytes(std::span(header)));
  for (const auto& tensor : tensors) {
    const std::span bytes(tensor.data, tensor.bytes);
    put(bytes);
    written.tensor_xxh64.emplace_back(tensor.name, xxh64_hex(bytes));
  }
  written.xxh64 = hash.hex();
  return written;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : map_(path), content_(parse_safetensors(map_.bytes(), path.string())) {}

}  // namespace flowtrain
