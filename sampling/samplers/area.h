#pragma once
// The area of a box.

#include "sampling/dataset.h"

namespace flowtrain {

/// Returns a box's area, in pixels; rounded to f32 it is the product of its sides in f32.
inline double area_of(const Box& box) { return static_cast<double>(box.x1 - box.x0) * (box.y1 - box.y0); }

}  // namespace flowtrain
