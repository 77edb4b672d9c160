#pragma once
// A picture at one test scale, and the way from the net's boxes back to the picture.

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "stages/torch/detection/detector.h"

namespace flowtrain {

struct ScaledView {
  at::Tensor images;  ///< (1 or 2, 3, h, w) f32, normalised; the second one is mirrored
  double scale;
  int height, width;       ///< of the scaled picture
  int top, left;           ///< where it lies in the net's input
  int map_width;           ///< cells of the net's heat maps
  float ratio_y, ratio_x;  ///< cells per input pixel
};

/// The picture scaled and put in the middle of the smallest zeros whose sides are multiples of 128 less one pixel: the
/// sizes that a deep hourglass halves without remainder. A scaled side that is of this form loses its last line, as in
/// the reference. Throws UserError (data) where nothing is left of the picture.
ScaledView scaled_view(const std::uint8_t* bgr, int height, int width, double scale, const CornerNetOptions& options);

/// The net's boxes (1 or 2, n, 8), in cells, as those of the picture, in its pixels: (n or 2n, 8), on the CPU.
at::Tensor undo(const ScaledView& view, const at::Tensor& detections);

}  // namespace flowtrain
