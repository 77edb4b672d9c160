#pragma once
// Resizing of u8 pictures (height, width, channels) without a low-pass filter, as detectors trained with OpenCV expect.

#include <cstdint>

#include "sampling/codecs/image.h"

namespace flowtrain {

/// The part `window` of what `from` resized to (to_height, to_width) would be: bilinear, half-pixel centres, in 11-bit
/// fixed point, with the same results as OpenCV's `resize` with INTER_LINEAR. Only that part is computed; it must lie
/// inside. Rows of `to` lie `to_stride` bytes apart. All sizes > 0. Scratch is thread_local.
void resize_fixed_point(const Picture& from, int to_height, int to_width, const Window& window, std::uint8_t* to,
                        std::size_t to_stride);

}  // namespace flowtrain
