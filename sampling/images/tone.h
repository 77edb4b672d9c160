#pragma once
// Changes levels and sharpness of u8 images (height, width, channels) in place; 1 (grey) or 3 (RGB) channels. The
// results are those of Pillow's ImageOps and ImageEnhance.

#include <cstdint>

namespace flowtrain {

/// Pixels of an image without gaps between rows.
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
/// Makes colours grey; three channels stay three.
void make_grey(const Pixels& pixels);
/// Computes x -> start + factor · (x - start), with a start that is: black; the mean grey level; the grey of the pixel;
/// the image smoothed over three by three pixels.
void change_brightness(const Pixels& pixels, double factor);
void change_contrast(const Pixels& pixels, double factor);
void change_saturation(const Pixels& pixels, double factor);
void change_sharpness(const Pixels& pixels, double factor);
/// Turns the colour circle by `turns` (-0.5 to 0.5 of it). Grey images stay as they are.
void change_hue(const Pixels& pixels, double turns);
/// Applies a Gaussian of deviation `sigma` pixels (> 0), cut off at three of them; the edges mirror the image.
void blur(const Pixels& pixels, double sigma);

}  // namespace flowtrain
