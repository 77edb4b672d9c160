#pragma once
// Corner pooling: H. Law and J. Deng, "CornerNet: Detecting objects as paired keypoints", ECCV 2018, section 3.3.

#include <ATen/core/Tensor.h>

namespace flowtrain::nets {

/// The direction of the pooling. A pixel takes the maximum over itself and the pixels below (`top`), above (`bottom`),
/// to its right (`left`) or to its left (`right`). A top-left corner thus sees the top and left edges of its object.
enum class CornerPool { top, bottom, left, right };

/// Pools `x` (B, C, H, W), of float, double, half or bfloat16; the result has its shape, type, device and memory
/// format. It is differentiable once. Among equal values the gradient goes to the one met first from the far end (from
/// the bottom for `top`), as in the reference implementation, for any number of threads. NaN spreads. Throws
/// std::invalid_argument for another shape or type.
at::Tensor corner_pool(const at::Tensor& x, CornerPool direction);

}  // namespace flowtrain::nets
