#pragma once
// Corner pooling: H. Law and J. Deng, "CornerNet: Detecting objects as paired keypoints", ECCV 2018, section 3.3.

#include <ATen/core/Tensor.h>

namespace flowtrain::nets {

/// Where the largest value is looked for, seen from a pixel: `top` takes the maximum over its own row and the rows
/// below, which brings the upper edge of an object to its top-left corner; `bottom` over the rows above; `left` over the
/// columns to the right; `right` over the columns to the left.
enum class CornerPool { top, bottom, left, right };

/// x: (B, C, H, W), float, double, half or bfloat16; the result has its shape, type, device and memory format.
/// Differentiable once. Among equal values the gradient goes to the one met first from the far end (from the bottom for
/// `top`), as in the reference implementation; nothing depends on the number of threads. NaN spreads.
/// Throws std::invalid_argument for another shape or type.
at::Tensor corner_pool(const at::Tensor& x, CornerPool direction);

}  // namespace flowtrain::nets
