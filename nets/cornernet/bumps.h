#pragma once
// Corners' heat maps from a compact list, drawn where the net computes: maps for 80 classes are 10 MB a picture, their
// lists 14 KB.

#include <ATen/core/Tensor.h>

namespace flowtrain::nets {

/// The maps of a batch, (B, C, H, W) f32 each.
struct CornerHeat {
  at::Tensor tl, br;              ///< a bump at each top left (bottom right) corner, 0 elsewhere
  at::Tensor tl_valid, br_valid;  ///< if asked for: 0 around corners that are neither right nor wrong, 1 elsewhere
};

/// Draws `bumps` (B, M, 7) i32 on their device. A row holds a box's class, the cells x and y of its top left and of its
/// bottom right corner, the radius of its bumps, and 1, or 0 for a box that only takes its surroundings off the valid
/// maps. A negative class: no box; one out of range is left out. Throws std::invalid_argument for another shape.
CornerHeat draw_gaussians(const at::Tensor& gaussians, std::int64_t classes, std::int64_t height, std::int64_t width,
                          bool valid);

}  // namespace flowtrain::nets
