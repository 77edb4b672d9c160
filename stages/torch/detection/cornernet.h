#pragma once
// The two halves of CornerNet's detection.

#include "stages/torch/detection/detector.h"

namespace flowtrain {

/// The boxes of all test scales, in pixels of the picture.
ClassBoxes collect_boxes(const std::uint8_t* bgr, int height, int width, const CornerNetOptions& options,
                         const Infer& infer);

/// Thins them out, and leaves the best.
void settle_boxes(ClassBoxes& boxes, const CornerNetOptions& options);

}  // namespace flowtrain
