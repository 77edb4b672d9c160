#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "sampling/samplers/cornernet/targets.h"

namespace flowtrain::cornernet_gaussian_test {
namespace {

/// The overlap of a (height, width) box with itself after its corners moved by (dx, dy) and (ex, ey).
double overlap(double height, double width, double dx, double dy, double ex, double ey) {
  const double inside =
      (std::min(width, width + ex) - std::max(0.0, dx)) * (std::min(height, height + ey) - std::max(0.0, dy));
  return inside / (width * height + (width + ex - dx) * (height + ey - dy) - inside);
}

}  // namespace

TEST_CASE("gaussian_radius: known values") {
  CHECK(gaussian_radius(32, 100, 0.1) == doctest::Approx(13.790627287701454));
  CHECK(gaussian_radius(12, 42, 0.5) == doctest::Approx(2.5798351660792225));
  CHECK(gaussian_radius(0, 7, 0.3) == 0);
}

TEST_CASE("gaussian_radius: corners moved by it leave the overlap, and one case exactly that") {
  for (const double iou : {0.3, 0.5, 0.7})
    for (const auto& [height, width] : {std::pair{10., 10.}, std::pair{40., 13.}, std::pair{3., 90.}}) {
      const double r = gaussian_radius(height, width, iou);
      const double both_in = overlap(height, width, r, r, -r, -r), both_out = overlap(height, width, -r, -r, r, r);
      const double shifted = overlap(height, width, r, r, r, r);
      CHECK(std::min({both_in, both_out, shifted}) == doctest::Approx(iou));
    }
}

}  // namespace flowtrain::cornernet_gaussian_test
