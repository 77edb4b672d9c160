#pragma once
// Measures the difference of two tensors.

#include <cstdint>

#include "pipeline/base/snapshot/safetensors.h"

namespace flowtrain {

/// The difference of two tensors of one type and shape.
struct TensorDifference {
  std::uint64_t values = 0;  ///< number of values whose bytes differ
  std::uint64_t of = 0;      ///< number of all values
  double largest = 0;        ///< largest |a - b|; NaN if one of the two is not finite and they differ
  double largest_value = 0;  ///< largest |a| or |b|, the scale of `largest`
};

/// Compares value by value.
TensorDifference difference_of(const TensorView& one, const TensorView& other);

}  // namespace flowtrain
