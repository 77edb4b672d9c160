#include "sampling/images/warp.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace flowtrain {
namespace {

double radians(double degrees) { return degrees * std::numbers::pi / 180; }

/// Returns a channel of a pixel; black outside.
double level(const Picture& in, int x, int y, int channel) {
  const bool inside = x >= 0 && y >= 0 && x < in.width && y < in.height;
  return inside ? in.row(y)[x * in.channels + channel] : 0;
}

void put_between(const Picture& in, double x, double y, std::uint8_t* out) {
  const double left = std::floor(x - 0.5), top = std::floor(y - 0.5);
  const double right_share = x - 0.5 - left, below_share = y - 0.5 - top;
  const int column = static_cast<int>(left), row = static_cast<int>(top);
  for (int c = 0; c < in.channels; ++c) {
    const double above = std::lerp(level(in, column, row, c), level(in, column + 1, row, c), right_share);
    const double below = std::lerp(level(in, column, row + 1, c), level(in, column + 1, row + 1, c), right_share);
    out[c] = static_cast<std::uint8_t>(std::lerp(above, below, below_share) + 0.5);
  }
}

}  // namespace

AffineMap map_of(const Affine& affine, int height, int width) {
  // The forward map is zoom · turn · slant around the middle, then the move. This is its inverse, step by step.
  const double turn = radians(-affine.degrees), x_slant = radians(affine.slant_right);
  const double a = std::cos(turn), b = -a * std::tan(x_slant) - std::sin(turn);
  const double c = std::sin(turn), d = -c * std::tan(x_slant) + std::cos(turn);
  AffineMap map{d / affine.zoom, -b / affine.zoom, 0, -c / affine.zoom, a / affine.zoom, 0};
  const double middle_x = width / 2.0, middle_y = height / 2.0;
  const double x = middle_x + affine.right, y = middle_y + affine.down;
  map.c = middle_x - map.a * x - map.b * y;
  map.f = middle_y - map.d * x - map.e * y;
  return map;
}

void warp(const Picture& in, const AffineMap& map, Sampling sampling, std::uint8_t* out) {
  // No point beyond this limit can be inside, and every int holds it.
  constexpr double far = 1e6;
  for (int row = 0; row < in.height; ++row)
    for (int column = 0; column < in.width; ++column, out += in.channels) {
      const double at_x = column + 0.5, at_y = row + 0.5;
      const double x = std::clamp(map.a * at_x + map.b * at_y + map.c, -far, far);
      const double y = std::clamp(map.d * at_x + map.e * at_y + map.f, -far, far);
      if (sampling == Sampling::bilinear) {
        put_between(in, x, y, out);
      } else {
        const int from_x = static_cast<int>(std::floor(x)), from_y = static_cast<int>(std::floor(y));
        for (int c = 0; c < in.channels; ++c) out[c] = static_cast<std::uint8_t>(level(in, from_x, from_y, c));
      }
    }
}

}  // namespace flowtrain
