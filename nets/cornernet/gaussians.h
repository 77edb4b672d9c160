#pragma once
// Draws Gaussian targets on heat maps (H. Law, J. Deng, "CornerNet", ECCV 2018) from a compact list, where the net
// computes: maps for 80 classes take 10 MB per image, their lists 14 KB.

#include <ATen/core/Tensor.h>

#include <vector>

namespace flowtrain::nets {

/// Computes half of the Gaussian along one axis: element d is exp(-d² / (2σ²)), d = 0 … radius, with
/// σ = (2 · radius + 1) / 6. The Gaussian at (dx, dy) is the product of both axes; its corners are above e^-9.
void gaussian_profile(int radius, std::vector<double>& profile);

/// A heat map of one class: (height, width), row-major.
struct HeatMap {
  float* values;
  int height, width;
};

/// Raises the map to a Gaussian with its peak, exactly 1, at (x, y). The map's edges cut it off.
void draw_gaussian(const HeatMap& map, int x, int y, int radius);

/// Sets the square that a Gaussian of this radius covers to `value`.
void fill_square(const HeatMap& map, int x, int y, int radius, float value);

/// The maps of a batch, (B, C, H, W) f32 each.
struct CornerHeat {
  at::Tensor tl, br;              ///< a Gaussian at each top left (bottom right) corner, 0 elsewhere
  at::Tensor tl_valid, br_valid;  ///< if asked for: 0 around corners that do not count, 1 elsewhere
};

/// Draws `gaussians` (B, M, 7) i32 on their device. A row holds a box's class, the cells x and y of its top left and of
/// its bottom right corner, the radius of its Gaussians, and 1, or 0 for a box that only clears its surroundings in the
/// valid maps. Classes that are negative or too large are left out. Throws std::invalid_argument for another shape.
CornerHeat draw_gaussians(const at::Tensor& gaussians, std::int64_t classes, std::int64_t height, std::int64_t width,
                          bool valid);

}  // namespace flowtrain::nets
