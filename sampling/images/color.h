#pragma once
// Colours of u8 pictures with 1 (grey) or 3 (RGB) channels.

#include <cstdint>

#include "sampling/random.h"

namespace flowtrain {

/// Copies `count` pixels from `in_channels` to `out_channels`: grey is repeated, RGB becomes luma (ITU-R 601).
void convert_channels(const std::uint8_t* in, int in_channels, int count, int out_channels, std::uint8_t* out);

/// torchvision's ColorJitter without hue. Strengths: factors are drawn from [max(0, 1 - s), 1 + s]; 0 = off.
struct ColorJitter {
  double brightness = 0, contrast = 0, saturation = 0;

  /// Changes `count` pixels in place, in an order that is drawn too. Saturation leaves grey pictures as they are.
  void apply(std::uint8_t* pixels, int count, int channels, Stream& random) const;
};

}  // namespace flowtrain
