#include "sampling/io/stored_array.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "sampling/core/mistake.h"
#include "tests/fuzz/support/fuzz_target.h"

// Parses the header of an array, and converts the elements as each type that they may have.
FUZZ_TARGET(stored_array) {
  using namespace flowtrain;
  const auto convert = [](StoredType type, fuzz::Bytes elements) {
    const auto count = elements.size() / size_of(type);
    std::vector<std::byte> into(count * size_of(record_type(type)));
    try {
      convert_elements(type, elements.first(count * size_of(type)), into);
    } catch (const std::runtime_error&) {  // a number beyond i64
    }
  };
  try {
    const auto header = parse_npy(input.first(std::min(input.size(), max_npy_header_bytes)), input.size());
    fuzz::require(header.data_offset + header.data_bytes <= input.size(), "the elements are within the file");
    fuzz::require(header.axes <= NpyHeader::max_axes, "the axes have room");
    convert(header.type, input.subspan(header.data_offset, header.data_bytes));
  } catch (const Mistake&) {
  }
  for (int type = 0; type <= static_cast<int>(StoredType::f64); ++type) convert(static_cast<StoredType>(type), input);
}
