#pragma once
// Running maxima along lines of memory on the CPU, the core of corner pooling. Only nets/ includes this file.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace flowtrain::nets::cornernet {

/// x, y and replaced are one dense block of memory each, read as (lines, length, inner) in row-major order; every
/// (line, i) is one sequence of `length` elements, `inner` apart, scanned from its last element with `backwards`. y
/// takes the largest element met so far. replaced (u8), which only the gradient needs, takes 1 at each new maximum: the
/// first element, and those strictly larger than all before, so that the first of equal elements stays. A NaN replaces
/// the maximum and then stays. x, y: float, double, half or bfloat16.
void running_max_cpu(const at::Tensor& x, std::int64_t length, std::int64_t inner, bool backwards, at::Tensor& y,
                     const std::optional<at::Tensor>& replaced);

/// Computes the gradient of x from g, that of y: every element with `replaced` gets the sum of g from itself up to the
/// next such element; the others get 0. Sums of half and bfloat16 are taken in float.
void running_max_backward_cpu(const at::Tensor& g, const at::Tensor& replaced, std::int64_t length, std::int64_t inner,
                              bool backwards, at::Tensor& gx);

}  // namespace flowtrain::nets::cornernet
