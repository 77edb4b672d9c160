#pragma once
// safetensors (github.com/huggingface/safetensors, "Format"): 8 bytes little-endian header length, a JSON header
// {name: {dtype, shape, data_offsets}}, then the tensors' bytes without gaps. Nothing in it can be executed. Here it is
// read; pipeline/base/snapshot/safetensors.h writes it.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flowtrain {

/// A named tensor's bytes, row-major and little-endian, owned by someone else.
struct TensorView {
  std::string name;
  std::string dtype;                ///< F64, F32, F16, BF16, I64, I32, I16, I8, U8 or BOOL
  std::vector<std::int64_t> shape;  ///< {}: a scalar; a 0 among the sizes: no elements
  const std::byte* data = nullptr;  ///< in a file of any alignment: copy, do not cast
  std::uint64_t bytes = 0;          ///< product of the shape · bytes of an element
};

/// The bytes of one element, or 0 for a dtype that is not among those above.
std::uint64_t element_bytes(std::string_view dtype);
/// The bytes of a tensor of this shape; false when the number does not fit.
bool tensor_bytes(std::span<const std::int64_t> shape, std::uint64_t element, std::uint64_t& bytes);
/// More tensors than this are refused: a header is to fill no memory.
inline constexpr std::size_t max_tensors = 1 << 16;
/// Of a header: room for max_tensors.
inline constexpr std::uint64_t max_header_bytes = 8 << 20;

/// A name out of a file, fit for a message: quoted, cut to 80 bytes, control characters replaced.
std::string shown(std::string_view name);
/// "(20, 1, 5, 5)", "(7,)", "()".
std::string shape_text(std::span<const std::int64_t> shape);

/// What the header holds beside tensors, under "__metadata__".
using SafetensorsMetadata = std::map<std::string, std::string>;

/// What parse_safetensors() has found.
struct SafetensorsContent {
  std::vector<TensorView> tensors;  ///< in the order of their data; views into the bytes that were parsed
  SafetensorsMetadata metadata;
};

/// Reads a whole file's bytes, every claim checked before it is relied on. `path` is for messages.
/// Throws UserError(snapshot) naming what is wrong.
SafetensorsContent parse_safetensors(std::span<const std::byte> bytes, const std::string& path);

}  // namespace flowtrain
