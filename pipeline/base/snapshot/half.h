#pragma once
// Floating-point numbers of 16 bits in tensors.

#include <bit>
#include <cstdint>

namespace flowtrain {

/// IEEE 754 binary16, of which a float holds every value exactly.
struct Float16 {
  std::uint16_t bits;

  explicit operator float() const {
    const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16, exponent = (bits >> 10) & 31u,
                        fraction = bits & 0x3ffu;
    if (exponent == 0) {  // a subnormal number, by its value
      const float value = static_cast<float>(fraction) * 0x1p-24f;
      return sign ? -value : value;
    }
    const std::uint32_t wide = exponent == 31 ? 255u : exponent + 112u;
    return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
  }
};

/// The upper half of a float.
struct BFloat16 {
  std::uint16_t bits;

  explicit operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
};

}  // namespace flowtrain
