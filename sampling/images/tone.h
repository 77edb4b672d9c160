#pragma once
// Changes of levels and sharpness of u8 pictures (height, width, channels) in place; 1 (grey) or 3 (RGB) channels. They
// give the results of Pillow's ImageOps and ImageEnhance.

#include <cstdint>

namespace flowtrain {

/// Pixels of a picture without gaps between rows.
struct Pixels {
  std::uint8_t* values;
  int height, width, channels;

  int count() const { return height * width; }
  int bytes() const { return count() * channels; }
};

/// Keeps the upper `bits` (0 to 8) of each level.
void posterize(const Pixels& pixels, int bits);
/// Inverts levels from `threshold` on.
void solarize(const Pixels& pixels, int threshold);
/// Stretches each channel's levels to 0 … 255.
void autocontrast(const Pixels& pixels);
/// Spreads each channel's levels so that all are about as frequent.
void equalize(const Pixels& pixels);
/// Colours become grey; three channels stay three.
void make_grey(const Pixels& pixels);
/// x -> start + factor · (x - start), where start is: black; the mean grey level; the grey of the pixel; the picture
/// smoothed over three by three pixels.
void change_brightness(const Pixels& pixels, double factor);
void change_contrast(const Pixels& pixels, double factor);
void change_saturation(const Pixels& pixels, double factor);
void change_sharpness(const Pixels& pixels, double factor);
/// Turns the colour circle by `turns` (-0.5 to 0.5 of it). Grey pictures stay as they are.
void change_hue(const Pixels& pixels, double turns);
/// A Gaussian of deviation `sigma` pixels (> 0), cut off at three of them; beyond the edges the picture is mirrored.
void blur(const Pixels& pixels, double sigma);

}  // namespace flowtrain
