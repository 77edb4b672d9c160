#pragma once
// Affine maps of u8 images (height, width, channels).

#include <cstdint>

#include "sampling/codecs/image.h"

namespace flowtrain {

/// Maps an output point to its source: (a·x + b·y + c, d·x + e·y + f); pixels have their centres at halves.
struct AffineMap {
  double a = 1, b = 0, c = 0, d = 0, e = 1, f = 0;
};

/// A turn, a move, an enlargement and a slant.
struct Affine {
  double degrees = 0;          ///< counterclockwise, around the middle
  double right = 0, down = 0;  ///< move in pixels
  double zoom = 1;
  double slant_right = 0;  ///< degrees: shear along x
};

/// Returns the map for an image of that size, which is that of torchvision's `affine`, whose angles turn the other way.
AffineMap map_of(const Affine& affine, int height, int width);

enum class Sampling : std::uint8_t { nearest, bilinear };
/// Fills `out` (in's shape, no gaps, not in's memory). Points from outside of the image are black.
void warp(const Picture& in, const AffineMap& map, Sampling sampling, std::uint8_t* out);

}  // namespace flowtrain
