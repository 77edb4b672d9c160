#pragma once
// Detections are tensors here, (n, 8) f32: x0, y0, x1, y1, score, tl_score, br_score, class.

#include <ATen/core/Tensor.h>

#include <vector>

#include "stages/torch/detection/detector.h"

namespace flowtrain {

/// Returns the rows of a tensor on the CPU; their classes do not matter.
std::vector<ScoredBox> boxes_of(const at::Tensor& rows);
/// Returns rows with a score above -1, which marks rejected ones, sorted by class, without those of other classes.
ClassBoxes by_class(const at::Tensor& rows, int categories);

/// Returns the boxes class by class, each in its place.
std::vector<Detection> detections_of(const ClassBoxes& boxes);

/// Makes (x - mean) / stddev of images (B, 3, H, W) with values 0 … 1, in place.
void normalise(at::Tensor& images, const DetectorOptions& options);

/// Throws UserError (data) unless there are pixels.
void check_picture(const std::uint8_t* pixels, int height, int width);

}  // namespace flowtrain
