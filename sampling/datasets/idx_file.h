#pragma once
// The IDX format of the MNIST family: a magic number, big-endian sizes, then the values, last dimension fastest (as the
// page of the MNIST database by Y. LeCun, C. Cortes and C. Burges describes it).

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace flowtrain {

/// An IDX file of u8 values in memory.
struct IdxFile {
  std::vector<std::byte> bytes;      ///< the whole file
  std::vector<std::uint64_t> shape;  ///< (images, height, width), (labels) …; at least one dimension
  std::size_t header_bytes = 0;

  std::span<const std::byte> values() const { return std::span(bytes).subspan(header_bytes); }
};

/// Checks an IDX file's header against its bytes. Throws UserError(data), starting with `name`, for a file that is not
/// IDX, values that are not u8, and too few or too many bytes.
IdxFile parse_idx(std::vector<std::byte> bytes, const std::string& name);

/// Returns "60000 x 28 x 28".
std::string shape_text(const std::vector<std::uint64_t>& shape);

}  // namespace flowtrain
