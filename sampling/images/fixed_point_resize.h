#pragma once
// Resizes u8 images (height, width, channels) without a low-pass filter, as detectors trained with OpenCV expect.

#include <cstdint>

#include "sampling/codecs/image.h"

namespace flowtrain {

/// Computes the part `window` of `from` resized to (to_height, to_width): bilinear, half-pixel centres, in 11-bit fixed
/// point, with the results of OpenCV's `resize` with INTER_LINEAR. Only that part, which must lie inside, is computed.
/// Rows of `to` are `to_stride` bytes apart. All sizes > 0. Scratch is thread_local.
void resize_fixed_point(const Picture& from, int to_height, int to_width, const Window& window, std::uint8_t* to,
                        std::size_t to_stride);

}  // namespace flowtrain
