#include "pipeline/base/snapshot/tensor_difference.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "pipeline/base/snapshot/half.h"

namespace flowtrain {
namespace {

double number(Float16 value) { return static_cast<float>(value); }
double number(BFloat16 value) { return static_cast<float>(value); }

template <class Number>
double number(Number value) {
  return static_cast<double>(value);
}

template <class Number>
TensorDifference compared(const TensorView& one, const TensorView& other) {
  TensorDifference difference{.of = one.bytes / sizeof(Number)};
  for (std::uint64_t i = 0; i < difference.of; ++i) {
    const auto *const at_a = one.data + i * sizeof(Number), *const at_b = other.data + i * sizeof(Number);
    Number a, b;
    std::memcpy(&a, at_a, sizeof a);
    std::memcpy(&b, at_b, sizeof b);
    const double left = number(a), right = number(b), apart = std::abs(left - right);
    difference.largest_value = std::max({difference.largest_value, std::abs(left), std::abs(right)});
    if (std::memcmp(at_a, at_b, sizeof a) == 0) continue;
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
