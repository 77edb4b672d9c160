#pragma once
// Resizes u8 images (height, width, channels).

#include <cstdint>

#include "sampling/images/crop.h"

namespace flowtrain {

/// The pixels that make a pixel of a smaller image.
enum class Filter : std::uint8_t {
  antialias,  ///< all that it covers: Pillow's `resize(size, BILINEAR, box)`, torchvision's default, within one level
  bilinear,   ///< the two nearest pixels along each axis: torchvision's `antialias=False`, within one level
};

/// Resizes the part `from` of `in` (1 or 3 channels) to (height, width), mirrored left to right or not, and writes it
/// to `out` (height · width · channels bytes). The filter sees pixels outside `from` but none outside `in`; `from` must
/// lie inside `in`. All processors give the same bits. Scratch is thread_local.
void resize(const Picture& in, const Rect& from, Filter filter, bool mirrored, int height, int width,
            std::uint8_t* out);

}  // namespace flowtrain
