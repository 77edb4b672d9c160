#pragma once
// The recipes of the `shapes` data set. A record holds its recipe, not pixels: drawing replaces decoding, so the
// sampler does it, on the worker threads.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sampling/dataset.h"

namespace flowtrain {

struct Image;

/// The kinds of shapes in label order. A data set of n classes has the first n.
enum class ShapeKind : std::uint32_t { circle, square, triangle, cross, ring, star, diamond, bar };
inline constexpr std::array<const char*, 8> shape_names{"circle", "square", "triangle", "cross",
                                                        "ring",   "star",   "diamond",  "bar"};

/// One filled shape. Lengths are in pixels; pixel (x, y) covers [x, x + 1) × [y, y + 1).
struct Shape {
  ShapeKind kind;
  float x, y;                  ///< the centre
  float radius;                ///< radius of the smallest circle around it
  float angle;                 ///< radians, clockwise as seen
  std::array<float, 3> color;  ///< RGB, 0 … 1
};

/// The recipe of one image of size × size pixels. Trivially copyable: records carry it as bytes.
struct ShapeRecipe {
  static constexpr std::uint32_t max_shapes = 16;

  std::uint32_t size;               ///< side in pixels
  std::uint32_t count;              ///< number of shapes; the first is the main one and is drawn on top
  std::array<float, 3> background;  ///< RGB, 0 … 1
  float noise;                      ///< standard deviation of every pixel's noise, 0 … 1
  std::uint64_t noise_seed;
  std::array<Shape, max_shapes> shapes;
};

/// Returns the box just around a shape, as if its edge were perfectly sharp.
Box bounding_box(const Shape& shape);

/// Draws a recipe's bytes into `out`: RGB (size, size, 3), whose memory is reused. Pure; any thread. Throws SampleError
/// for bytes that are not a recipe.
void draw_shapes(std::span<const std::byte> recipe, Image& out);

}  // namespace flowtrain
