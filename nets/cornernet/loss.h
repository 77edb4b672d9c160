#pragma once
// The losses of the CornerNet family: heat maps, tags and offsets of corners, and Saccade's attention maps. H. Law, J.
// Deng, "CornerNet", ECCV 2018; H. Law et al., "CornerNet-Lite", BMVC 2020. Constants are those of the reference
// implementation, princeton-vl/CornerNet-Lite.

#include <ATen/core/Tensor.h>

namespace flowtrain::nets {

/// Computes the focal loss of heat maps for one stack, a scalar f32. With p = sigmoid(logits) in [1e-4, 1 - 1e-4] it is
///   -(sum over target = 1 of (1-p)^2 ln p, plus sum elsewhere of (1-target)^4 p^2 ln(1-p)) / max(positives, 1)
/// A clamped p has no gradient. `target`: 0 … 1 in the logits' shape. `valid`, if given, weighs each term; positives
/// without weight still count in the divisor. Backward keeps no tensor of the maps' size but the arguments.
at::Tensor focal_loss(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& valid = {});

struct TagLoss {
  at::Tensor pull;  ///< scalar: distance of an object's two tags from their mean
  at::Tensor push;  ///< scalar: closeness of different objects' means, up to a distance of 1
};
/// Computes the associative embedding of corners, summed over images. `tl`, `br`: tags (B, N); `mask` (B, N) u8 or
/// bool: the slots that hold an object. Each object is also pushed from itself, by a constant, as in the reference.
TagLoss tag_loss(const at::Tensor& tl, const at::Tensor& br, const at::Tensor& mask);

/// Computes smooth L1 (beta 1) between `offset` and `target` (B, N, 2), summed over the objects of `mask` (B, N) and
/// both axes, divided by the number of objects + 1e-4.
at::Tensor offset_loss(const at::Tensor& offset, const at::Tensor& target, const at::Tensor& mask);

}  // namespace flowtrain::nets
