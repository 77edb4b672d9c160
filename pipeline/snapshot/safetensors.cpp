#include "pipeline/snapshot/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "pipeline/snapshot/hash.h"
#include "pipeline/snapshot/safetensors_header.h"
#include "sampling/core/error.h"

namespace flowtrain {
namespace {

static_assert(std::endian::native == std::endian::little, "lengths and tensors are written as they lie in memory");

constexpr std::uint64_t max_header_bytes = 8 << 20;  // room for max_tensors

/// The bytes of a tensor of this shape; false when the number does not fit.
bool tensor_bytes(std::span<const std::int64_t> shape, std::uint64_t element, std::uint64_t& bytes) {
  bytes = element;
  for (auto size : shape)
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) return false;
  return true;
}

/// Checks one entry against itself and the size of the data.
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

SafetensorsContent parse_safetensors(std::span<const std::byte> bytes, const std::string& path) {
  std::uint64_t header_bytes = 0;
  if (bytes.size() < sizeof(header_bytes))
    throw UserError(ExitCode::snapshot, path + ": " + std::to_string(bytes.size()) + " bytes are no safetensors file");
  std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  bytes = bytes.subspan(sizeof(header_bytes));
  if (header_bytes > max_header_bytes || header_bytes > bytes.size())
    throw UserError(ExitCode::snapshot, path + ": no safetensors file, or cut short: a header of " +
                                            std::to_string(header_bytes) + " bytes in " + std::to_string(bytes.size()));
  auto header = parse_header({reinterpret_cast<const char*>(bytes.data()), header_bytes}, path);
  const auto data = bytes.subspan(header_bytes);

  for (const auto& entry : header.entries) check_entry(entry, data.size(), path);
  // Stable: tensors without elements keep their place in the header.
  std::ranges::stable_sort(header.entries, {}, [](const HeaderEntry& e) { return std::pair(e.begin, e.end); });
  std::uint64_t end = 0;
  SafetensorsContent content{{}, std::move(header.metadata)};
  content.tensors.reserve(header.entries.size());
  for (auto& entry : header.entries) {
    if (entry.begin != end)
      throw UserError(ExitCode::snapshot, path + ": tensor " + shown(entry.name) +
                                              (entry.begin < end ? " overlaps the one before" : " comes after a gap"));
    end = entry.end;
    content.tensors.push_back({std::move(entry.name), std::move(entry.dtype), std::move(entry.shape),
                               data.data() + entry.begin, entry.end - entry.begin});
  }
  if (end != data.size())
    throw UserError(ExitCode::snapshot,
                    path + ": " + std::to_string(data.size() - end) + " bytes after the last tensor");
  return content;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : map_(path), content_(parse_safetensors(map_.bytes(), path.string())) {}

}  // namespace flowtrain
