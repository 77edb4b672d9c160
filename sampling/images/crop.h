#pragma once
// Cuts and mirrors u8 images (height, width, channels).

#include <cstdint>
#include <span>

#include "sampling/codecs/image.h"
#include "sampling/core/random.h"

namespace flowtrain {

/// Copies the window of (height, width) whose corner is at (x, y) of `in`; pixels outside of `in` become 0.
void copy_window(const Picture& in, int x, int y, int height, int width, std::uint8_t* out);

/// Mirrors rows left to right, in place.
void flip_horizontally(std::uint8_t* pixels, int height, int width, int channels);

/// Draws the crop of RandomResizedCrop: an area of `scale` and a shape (width / height) of `ratio`, both {least, most};
/// after ten misses the largest centred crop within `ratio`. Szegedy et al., "Going Deeper with Convolutions", 2014.
Rect draw_resized_crop(int height, int width, std::span<const double> scale, std::span<const double> ratio,
                       Stream& random);

}  // namespace flowtrain
