#pragma once
// Resizing of u8 pictures (height, width, channels) without a low-pass filter, as detectors trained with OpenCV expect.

#include <cstdint>

#include "sampling/codecs/image.h"

namespace flowtrain {

/// Resizes a picture without gaps between rows: bilinear, half-pixel centres, in 11-bit fixed point, with the same
/// results as OpenCV's `resize` with INTER_LINEAR. `to` takes to_height · to_width · channels bytes. All sizes > 0.
void resize_fixed_point(const std::uint8_t* from, int height, int width, int channels, std::uint8_t* to, int to_height,
                        int to_width);

/// Only the part `window` of what `from` resized to (to_height, to_width) would be; the whole is never made. Rows of
/// `to` lie `to_stride` bytes apart. The window must lie inside. Scratch is thread_local.
void resize_fixed_point(const Picture& from, int to_height, int to_width, const Window& window, std::uint8_t* to,
                        std::size_t to_stride);

}  // namespace flowtrain
