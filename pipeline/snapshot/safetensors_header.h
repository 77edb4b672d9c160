#pragma once
// The JSON header of a safetensors file, read in one pass without a tree, so that a hostile one costs no memory.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/snapshot/safetensors.h"

namespace flowtrain {

/// More tensors than this are refused: a header is to fill no memory.
inline constexpr std::size_t max_tensors = 1 << 16;

/// One tensor as the header states it; each of the three fields was there, once.
struct HeaderEntry {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;  ///< each ≥ 0
  std::uint64_t begin = 0;          ///< data_offsets, counted from the end of the header
  std::uint64_t end = 0;
};

struct Header {
  std::vector<HeaderEntry> entries;  ///< in the order of the text; names differ
  SafetensorsMetadata metadata;
};

/// Parses the header's text. Throws UserError(snapshot) "PATH: <what is wrong>". Offsets and sizes are not compared.
Header parse_header(std::string_view json, const std::string& path);

/// The header's text for these tensors, their data contiguous in this order, blanks added up to a multiple of
/// 64 bytes less the 8 of the length.
std::string make_header(std::span<const TensorView> tensors, const SafetensorsMetadata& metadata);

/// A name out of a file, fit for a message: quoted, cut to 80 bytes, control characters replaced.
std::string shown(std::string_view name);

}  // namespace flowtrain
