#pragma once
// Draws boxes into pictures, to look at what a detector finds.

#include <cstdint>
#include <span>

#include "sampling/dataset.h"
#include "stages/detection/detector.h"

namespace flowtrain {

/// Draws into `rgb`, height · width · 3 bytes: the annotated boxes as thin white lines, what was found as lines in its
/// class's colour, the stronger the higher its score, with a filled square at each of its two corners. Detections below
/// `least` are left out.
void draw_boxes(std::uint8_t* rgb, int height, int width, std::span<const Box> annotated,
                std::span<const Detection> found, float least);

}  // namespace flowtrain
