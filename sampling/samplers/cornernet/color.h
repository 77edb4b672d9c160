#pragma once
// Colour jitter, lighting and normalisation of the CornerNet samplers. Each of their steps is linear in a pixel, its
// grey value and constants, so that all of them together are one pass over the image.

#include <array>
#include <cstdint>

#include "sampling/samplers/cornernet/draws.h"

namespace flowtrain {

/// Maps a pixel with values x in 0 … 1 to: own · x_c + grey · (grey value of x) + shift_c in channel c. Starts
/// as the identity; each call appends a step. Channels are in the order blue, green, red. Nothing is clipped.
class ColorMap {
 public:
  /// Adds a jitter by `factor`; `mean_grey` is that of the unchanged image, from mean_grey().
  void jitter(JitterStep step, double factor, double mean_grey);
  /// Adds noise along the main colour axes of ImageNet: "PCA lighting", Krizhevsky et al., NIPS 2012. `alpha`: strength
  /// along each axis, in units of its eigenvalue.
  void light(const std::array<double, 3>& alpha);
  /// Adds (x - mean) / deviation with the values of COCO.
  void normalize();

  /// Maps `count` pixels, red first, to floats, blue first.
  void apply(const std::uint8_t* rgb, std::size_t count, float* bgr) const;

 private:
  std::array<double, 3> own_{1, 1, 1}, grey_{}, shift_{};
};

/// Returns the mean grey value of an image, in 0 … 1.
double mean_grey(const std::uint8_t* rgb, std::size_t count);

/// Draws the jitter of an image and appends it to the map.
void draw_jitter(const std::uint8_t* rgb, std::size_t count, DrawSource& draws, ColorMap& map);

}  // namespace flowtrain
