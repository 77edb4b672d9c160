#pragma once
// Measures the difference of two tensors.

#include <cstdint>

#include "pipeline/base/snapshot/safetensors.h"

namespace flowtrain {

/// The difference of two tensors of one type and shape.
struct TensorDifference {
  std::uint64_t values = 0;  ///< whose bytes differ
  std::uint64_t of = 0;      ///< all values
  double largest = 0;        ///< the largest |a - b|; NaN where one of the two is not finite and they differ
  double largest_value = 0;  ///< the largest |a| or |b|, against which `largest` may be judged
};

/// Compares value by value.
TensorDifference difference_of(const TensorView& one, const TensorView& other);

}  // namespace flowtrain
