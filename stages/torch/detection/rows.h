#pragma once
// Detections as tensors, (n, 8) f32: x0, y0, x1, y1, score, tl_score, br_score, class.

#include <ATen/core/Tensor.h>

#include <vector>

#include "stages/torch/detection/detector.h"

namespace flowtrain {

/// Returns the rows of a tensor on the CPU; their classes are ignored.
std::vector<ScoredBox> boxes_of(const at::Tensor& rows);
/// Returns rows with a score above -1, which marks rejected ones, sorted by class; rows of other classes are left out.
ClassBoxes by_class(const at::Tensor& rows, int categories);

/// Lists classes in order, each box as it stands.
std::vector<Detection> detections_of(const ClassBoxes& boxes);

/// Computes (x - mean) / stddev of images (B, 3, H, W) with values 0 … 1, in place.
void normalise(at::Tensor& images, const DetectorOptions& options);

/// Throws UserError (data) unless there are pixels.
void check_picture(const std::uint8_t* pixels, int height, int width);

}  // namespace flowtrain
