#include "pipeline/snapshot/tensor_difference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace flowtrain {
namespace {

struct BFloat16 {
  std::uint16_t bits;
};

struct Float16 {
  std::uint16_t bits;
};

double number(BFloat16 value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16); }

// IEEE 754 binary16: 1 bit of sign, 5 of exponent, 10 of fraction.
double number(Float16 value) {
  const int exponent = value.bits >> 10 & 31, fraction = value.bits & 1023;
  double size = 0;
  if (exponent == 31)
    size = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  else
    size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return value.bits >> 15 ? -size : size;
}

template <class Number>
double number(Number value) {
  return static_cast<double>(value);
}

template <class Number>
TensorDifference compared(const TensorView& one, const TensorView& other) {
  TensorDifference difference{.of = one.bytes / sizeof(Number)};
  for (std::uint64_t i = 0; i < difference.of; ++i) {
    Number a, b;
    std::memcpy(&a, one.data + i * sizeof a, sizeof a);
    std::memcpy(&b, other.data + i * sizeof b, sizeof b);
    const double left = number(a), right = number(b), apart = std::abs(left - right);
    difference.largest_value = std::max({difference.largest_value, std::abs(left), std::abs(right)});
    if (std::memcmp(&a, &b, sizeof a) == 0) continue;
    ++difference.values;
    if (!std::isnan(difference.largest) && !(apart <= difference.largest)) difference.largest = apart;
  }
  return difference;
}

}  // namespace

TensorDifference difference_of(const TensorView& one, const TensorView& other) {
  if (one.dtype == "F64") return compared<double>(one, other);
  if (one.dtype == "F32") return compared<float>(one, other);
  if (one.dtype == "F16") return compared<Float16>(one, other);
  if (one.dtype == "BF16") return compared<BFloat16>(one, other);
  if (one.dtype == "I64") return compared<std::int64_t>(one, other);
  if (one.dtype == "I32") return compared<std::int32_t>(one, other);
  if (one.dtype == "I16") return compared<std::int16_t>(one, other);
  if (one.dtype == "I8") return compared<std::int8_t>(one, other);
  return compared<std::uint8_t>(one, other);
}

}  // namespace flowtrain
