#pragma once
// Affine maps of u8 pictures (height, width, channels).

#include <cstdint>

#include "sampling/codecs/image.h"

namespace flowtrain {

/// Where an output point comes from: (a·x + b·y + c, d·x + e·y + f), pixels having their centres at halves.
struct AffineMap {
  double a = 1, b = 0, c = 0, d = 0, e = 1, f = 0;
};

/// A turn, a move, an enlargement and a slant.
struct Affine {
  double degrees = 0;          ///< counterclockwise, around the middle
  double right = 0, down = 0;  ///< pixels
  double zoom = 1;
  double slant_right = 0;  ///< degrees: shear along x
};

/// For a picture of that size; the same map as torchvision's `affine`, whose angles turn the other way.
AffineMap map_of(const Affine& affine, int height, int width);

enum class Sampling : std::uint8_t { nearest, bilinear };
/// Fills `out` (in's shape, no gaps, not in's memory). What comes from outside is black.
void warp(const Picture& in, const AffineMap& map, Sampling sampling, std::uint8_t* out);

}  // namespace flowtrain
