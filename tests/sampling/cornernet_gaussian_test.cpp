#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sampling/samplers/cornernet/gaussian.h"

namespace flowtrain {
namespace {

struct Map {
  int height, width;
  std::vector<float> values = std::vector<float>(static_cast<std::size_t>(height * width));

  HeatMap view() { return {values.data(), height, width}; }
  float at(int x, int y) const { return values[static_cast<std::size_t>(y * width + x)]; }
};

/// The overlap of a (height, width) box with itself after its corners moved by (dx, dy) and (ex, ey).
double overlap(double height, double width, double dx, double dy, double ex, double ey) {
  const double inside = (std::min(width, width + ex) - std::max(0.0, dx)) *
                        (std::min(height, height + ey) - std::max(0.0, dy));
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

TEST_CASE("draw_gaussian: a bump") {
  Map map{20, 30};
  draw_gaussian(map.view(), 10, 8, 3);
  const double sigma = 7 / 6.0;
  CHECK(map.at(10, 8) == 1);
  CHECK(map.at(12, 9) == doctest::Approx(std::exp(-5 / (2 * sigma * sigma))));
  CHECK(map.at(7, 5) == map.at(13, 11));
  CHECK(map.at(7, 5) > 0);
  CHECK(map.at(6, 8) == 0);
  CHECK(map.at(10, 12) == 0);
}

TEST_CASE("draw_gaussian: radius 0, borders, and bumps over each other") {
  Map map{6, 5};
  draw_gaussian(map.view(), 4, 5, 0);
  CHECK(map.at(4, 5) == 1);
  CHECK(map.at(3, 5) == 0);
  draw_gaussian(map.view(), 0, 0, 40);
  CHECK(map.at(0, 0) == 1);
  CHECK(map.at(4, 5) == 1);  // the larger value stays
  const float before = map.at(2, 2);
  draw_gaussian(map.view(), 2, 3, 1);
  CHECK(map.at(2, 3) == 1);
  CHECK(map.at(2, 2) == before);
  draw_gaussian(map.view(), 9, 9, 2);  // outside, with nothing on the map
  CHECK(map.at(2, 2) == before);
}

TEST_CASE("fill_square: what a bump covers") {
  Map map{9, 9}, bump{9, 9};
  fill_square(map.view(), 1, 7, 2, 5);
  draw_gaussian(bump.view(), 1, 7, 2);
  for (std::size_t i = 0; i < map.values.size(); ++i) CHECK((map.values[i] == 5) == (bump.values[i] > 0));
}

}  // namespace flowtrain
