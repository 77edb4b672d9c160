#pragma once
// Gaussian bumps on heat maps: their shape, and drawing them on the CPU. H. Law, J. Deng, "CornerNet", ECCV 2018.

#include <vector>

namespace flowtrain::nets {

/// Half of the bump along one axis: element d is exp(-d² / (2σ²)), d = 0 … radius, with σ = (2 · radius + 1) / 6. At
/// (dx, dy) from the peak the bump is the product of both axes' elements; at its corners that is still above e^-9.
void gaussian_profile(int radius, std::vector<double>& profile);

/// A heat map of one class: (height, width), row-major.
struct HeatMap {
  float* values;
  int height, width;
};

/// Raises the map to a bump with its peak, exactly 1, at (x, y). What falls outside the map is cut off.
void draw_gaussian(const HeatMap& map, int x, int y, int radius);

/// Sets the square that a bump of this radius covers to `value`.
void fill_square(const HeatMap& map, int x, int y, int radius, float value);

}  // namespace flowtrain::nets
