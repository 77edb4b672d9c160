#pragma once
// Corner pooling: H. Law and J. Deng, "CornerNet: Detecting objects as paired keypoints", ECCV 2018, section 3.3.

#include <ATen/core/Tensor.h>

namespace flowtrain::nets {

/// Which corner's sides are sought. A pixel takes the maximum over itself and, `top`, the pixels below; `bottom`, those
/// above; `left`, those to its right; `right`, those to its left. So a top-left corner sees the top and left edges of
/// its object.
enum class CornerPool { top, bottom, left, right };

/// x: (B, C, H, W), float, double, half or bfloat16; the result has its shape, type, device and memory format.
/// Differentiable once. Among equal values the gradient goes to the one met first from the far end (from the bottom for
/// `top`), as in the reference implementation; nothing depends on the number of threads. NaN spreads.
/// Throws std::invalid_argument for another shape or type.
at::Tensor corner_pool(const at::Tensor& x, CornerPool direction);

}  // namespace flowtrain::nets
