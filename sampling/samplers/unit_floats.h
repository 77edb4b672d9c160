#pragma once
// Stored bytes as numbers, for rows that are to hold them as f32.

#include <cstddef>
#include <cstdint>

namespace flowtrain {

/// out[i] = in[i] · (1/255), 0 … 1, for `count` values.
void to_unit_floats(const std::uint8_t* in, std::size_t count, float* out);

}  // namespace flowtrain
