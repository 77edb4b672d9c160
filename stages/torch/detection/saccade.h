#pragma once
// CornerNet-Saccade's search through a picture.

#include <ATen/core/Tensor.h>

#include <vector>

#include "stages/detection/locations.h"
#include "stages/torch/detection/detector.h"

namespace flowtrain {

struct SaccadeFindings {
  at::Tensor rows;                             ///< (n, 8) f32: all boxes found, in pixels of the picture
  std::vector<std::vector<Location>> visited;  ///< where it looked, round by round; first the glances
};

/// The whole picture at each of init_sizes.
std::vector<Location> first_glances(int height, int width, const std::vector<int>& init_sizes);

/// Throws UserError for an empty picture (data) or lists of options that do not fit each other (usage), InternalError
/// for an answer that does not fit the question.
SaccadeFindings search(const std::uint8_t* bgr, int height, int width, const SaccadeOptions& options,
                       const Infer& infer);

/// Thins the boxes out, and leaves the best.
ClassBoxes settle_findings(const SaccadeFindings& findings, const SaccadeOptions& options);

}  // namespace flowtrain
