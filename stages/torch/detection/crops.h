#pragma once
// The parts of a picture that CornerNet-Saccade looks at, enlarged, and the way back.

#include <ATen/core/Tensor.h>

#include <array>
#include <span>

#include "stages/detection/locations.h"

namespace flowtrain {

struct Crops {
  at::Tensor images;   ///< (n, 3, h, w) f32, values as in the picture, zeros outside of it
  at::Tensor scales;   ///< (n) f64
  at::Tensor offsets;  ///< (n, 2) f32: y, x of each crop's corner in the picture; may be negative
};

/// For each location the part of `picture` (3, H, W) f64 that fills `input_size` {height, width} when enlarged by the
/// location's scale, with the location in the middle. Bilinear, half-pixel centres.
Crops cut_crops(const at::Tensor& picture, std::span<const Location> locations, std::array<int, 2> input_size);

/// Boxes (n, k, 8) from cells of the heat maps to pixels of the net's input, in place.
void to_input_pixels(at::Tensor& boxes, std::array<int, 2> input_size, std::array<int, 2> output_size);
/// And from there to pixels of the picture, in place. `scales` (n), `offsets` (n, 2).
void to_picture_pixels(at::Tensor& boxes, const at::Tensor& scales, const at::Tensor& offsets);

}  // namespace flowtrain
