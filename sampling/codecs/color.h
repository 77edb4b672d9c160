#pragma once
// Colours of u8 images with 1 (grey) or 3 (RGB) channels.

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace flowtrain {

/// Returns ITU-R 601 luma in 16-bit fixed point, with Pillow's weights.
inline std::uint8_t luma(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 32768u) >> 16);
}

/// Copies `count` pixels from `in_channels` to `out_channels`: grey is repeated, RGB becomes luma (ITU-R 601).
inline void convert_channels(const std::uint8_t* in, int in_channels, int count, int out_channels, std::uint8_t* out) {
  if (in_channels == out_channels)
    std::memcpy(out, in, static_cast<std::size_t>(count) * static_cast<std::size_t>(in_channels));
  else if (out_channels == 3)
    for (int i = 0; i < count; ++i) out[3 * i] = out[3 * i + 1] = out[3 * i + 2] = in[i];
  else
    for (int i = 0; i < count; ++i) out[i] = luma(in + 3 * i);
}

}  // namespace flowtrain
