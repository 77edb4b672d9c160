#pragma once
// Reads safetensors (github.com/huggingface/safetensors, "Format"): 8 bytes little-endian header length, a JSON header
// {name: {dtype, shape, data_offsets}}, then the tensors' bytes without gaps. Nothing in it can be executed.
// pipeline/base/snapshot/safetensors.h writes it.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flowtrain {

/// A named tensor's bytes, row-major and little-endian, which somebody else owns.
struct TensorView {
  std::string name;
  std::string dtype;                ///< F64, F32, F16, BF16, I64, I32, I16, I8, U8 or BOOL
  std::vector<std::int64_t> shape;  ///< {}: a scalar; a 0 among the sizes: no elements
  const std::byte* data =
      nullptr;               ///< data in a file of any alignment: copy, do not cast; null: beyond what was parsed
  std::uint64_t bytes = 0;   ///< product of the shape and the bytes of an element
  std::uint64_t offset = 0;  ///< place of the data in the file
};

/// Returns the bytes of one element, or 0 for a dtype that is not listed above.
std::uint64_t element_bytes(std::string_view dtype);
/// Computes the bytes of a tensor of this shape; returns false if the number does not fit.
bool tensor_bytes(std::span<const std::int64_t> shape, std::uint64_t element, std::uint64_t& bytes);
/// The largest number of tensors, so that a header cannot fill memory.
inline constexpr std::size_t max_tensors = 1 << 16;
/// The largest size of a header, with room for max_tensors.
inline constexpr std::uint64_t max_header_bytes = 8 << 20;

/// Makes a name from a file safe for messages: quoted, cut to 80 bytes, control characters replaced.
std::string shown(std::string_view name);
/// Returns "(20, 1, 5, 5)", "(7,)", "()".
std::string shape_text(std::span<const std::int64_t> shape);

/// The contents of the header beside tensors, under "__metadata__".
using SafetensorsMetadata = std::map<std::string, std::string>;

/// The result of parse_safetensors().
struct SafetensorsContent {
  std::vector<TensorView> tensors;  ///< tensors in the order of their data; views into the parsed bytes
  SafetensorsMetadata metadata;
};

/// Parses a whole file's bytes; every claim is checked before it is used. `path` is for messages. Throws
/// UserError(snapshot) that names the problem.
SafetensorsContent parse_safetensors(std::span<const std::byte> bytes, const std::string& path);
/// Parses the beginning of a file of `file_bytes` bytes, which holds at least its header: tensors beyond it have no
/// data.
SafetensorsContent parse_safetensors(std::span<const std::byte> beginning, const std::string& path,
                                     std::uint64_t file_bytes);

}  // namespace flowtrain
