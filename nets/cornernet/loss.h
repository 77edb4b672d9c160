#pragma once
// What the CornerNet family minimises: corners' heat maps, the tags that pair them, their sub-cell offsets, and for
// Saccade the attention maps. H. Law, J. Deng, "CornerNet", ECCV 2018; H. Law et al., "CornerNet-Lite", BMVC 2020;
// numbers as in the reference implementation, princeton-vl/CornerNet-Lite.

#include <ATen/core/Tensor.h>

#include <memory>

#include "nets/losses/loss.h"

namespace flowtrain::nets {

/// The focal loss of heat maps, for one stack: scalar f32. With p = sigmoid(logits) clamped to [1e-4, 1 - 1e-4]:
///   -(sum over target = 1 of (1-p)^2 ln p, plus sum elsewhere of (1-target)^4 p^2 ln(1-p)) / max(positives, 1)
/// A clamped p has no gradient. `target`: 0 … 1 in the logits' shape. `valid`, where given, weighs each term; positives
/// without weight count in the divisor all the same. Keeps no tensor of the maps' size for backward but its arguments.
at::Tensor focal_loss(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& valid = {});

struct TagLoss {
  at::Tensor pull;  ///< scalar: distance of an object's two tags from their mean
  at::Tensor push;  ///< scalar: closeness of different objects' means, up to a distance of 1
};
/// The associative embedding of corners. `tl`, `br`: tags (B, N); `mask` (B, N) u8 or bool: the slots that hold an
/// object. Summed over pictures. Each object is also pushed from itself, by a constant, as in the reference.
TagLoss tag_loss(const at::Tensor& tl, const at::Tensor& br, const at::Tensor& mask);

/// Smooth L1 (beta 1) between `offset` and `target` (B, N, 2), summed over the objects of `mask` (B, N) and both axes,
/// divided by the number of objects + 1e-4.
at::Tensor offset_loss(const at::Tensor& offset, const at::Tensor& target, const at::Tensor& mask);

/// The whole loss, averaged over stacks. It reads of the outputs, for each stack S from 0 and for tl and br:
///   `tl_heatS` (B, C, H, W), `tl_tagS` (B, 1, H, W), `tl_offS` (B, 2, H, W); with `saccade` `attS_0` … `attS_2`
/// and of the batch, N slots for objects each:
///   `bumps` (B, M, 7) i32 as in bumps.h, or the maps drawn from them: `tl_heat` (B, C, H, W) f32, with `saccade` also
///   `tl_valid`; `tl_ind` (B, N) i64, `tl_off` (B, N, 2) f32, `mask` (B, N) u8 or bool; with `saccade` `att0` … `att2`
///   f32 as the outputs.
/// `loss` is the sum of its parts `focal`, `pull`, `push`, `off` and, with `saccade`, `att`; they come with their
/// weights. `cells` (B, 2) i32, where the batch has it: the maps' height and width, compared with the first outputs
/// (all others are like them, and looking waits for the device). The attention part is divided by the number of stacks
/// twice: the reference does it, and its weights were trained so. `untagged` (B) i32, where the batch has it, is
/// averaged: a picture's objects that got no tag. Throws std::invalid_argument for a negative weight, and when called
/// for outputs of another size.
std::unique_ptr<Loss> make_corner_loss(const LossSpec& spec, bool saccade);

}  // namespace flowtrain::nets
