// Bumps on corners' heat maps: one by one, and the maps of a batch from a compact list.
#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "nets/cornernet/gaussians.h"

namespace flowtrain::nets::gaussians_test {
namespace {

struct Map {
  int height, width;
  std::vector<float> values = std::vector<float>(static_cast<std::size_t>(height * width));

  HeatMap view() { return {values.data(), height, width}; }
  float at(int x, int y) const { return values[static_cast<std::size_t>(y * width + x)]; }
};

/// One box of class 2 that is shown and one of class 0 that is not, on the second of two pictures.
at::Tensor two_gaussians() {
  at::Tensor gaussians = at::full({2, 3, 7}, -1, at::kInt);
  gaussians[1][0] = at::tensor({2, 4, 1, 9, 7, 2, 1}, at::kInt);
  gaussians[1][2] = at::tensor({0, 0, 0, 5, 6, 1, 0}, at::kInt);
  return gaussians;
}

}  // namespace

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
  Map map{9, 9}, gaussian{9, 9};
  fill_square(map.view(), 1, 7, 2, 5);
  draw_gaussian(gaussian.view(), 1, 7, 2);
  for (std::size_t i = 0; i < map.values.size(); ++i) CHECK((map.values[i] == 5) == (gaussian.values[i] > 0));
}

TEST_CASE("draw_gaussians: the maps of a batch") {
  const auto heat = draw_gaussians(two_gaussians(), 3, 8, 10, true);
  Map tl{8, 10}, br{8, 10};
  draw_gaussian(tl.view(), 4, 1, 2);
  draw_gaussian(br.view(), 9, 7, 2);
  const auto is_map = [](const at::Tensor& drawn, const Map& map) {
    return at::equal(drawn, at::tensor(map.values).view({map.height, map.width}));
  };
  CHECK(is_map(heat.tl[1][2], tl));
  CHECK(is_map(heat.br[1][2], br));
  CHECK(heat.tl[0].count_nonzero().item<std::int64_t>() == 0);
  CHECK(heat.tl[1][0].count_nonzero().item<std::int64_t>() == 0);
  CHECK(heat.tl_valid.numel() - heat.tl_valid.count_nonzero().item<std::int64_t>() == 4);  // the rest is outside
  CHECK(heat.br_valid.numel() - heat.br_valid.count_nonzero().item<std::int64_t>() == 9);
  CHECK(heat.br_valid[1][0][6][5].item<float>() == 0);
  CHECK(heat.tl_valid[1][2].min().item<float>() == 1);
  CHECK_FALSE(draw_gaussians(two_gaussians(), 3, 8, 10, false).tl_valid.defined());
}

TEST_CASE("draw_gaussians: classes and cells that are not there, and wrong shapes") {
  at::Tensor gaussians = two_gaussians();
  gaussians[1][0][0] = 3;
  gaussians[0][1] = at::tensor({1, -900, 4, 2000000000, 7, 3, 1}, at::kInt);
  const auto heat = draw_gaussians(gaussians, 3, 8, 10, true);
  CHECK(heat.tl.count_nonzero().item<std::int64_t>() == 0);
  CHECK(draw_gaussians(at::empty({2, 0, 7}, at::kInt), 3, 8, 10, true).tl_valid.min().item<float>() == 1);
  CHECK_THROWS_WITH_AS(draw_gaussians(at::zeros({2, 3, 6}, at::kInt), 3, 8, 10, true),
                       "gaussians: Int of shape [2, 3, 6], expected i32 of (B, M, 7)", std::invalid_argument);
  CHECK_THROWS_AS(draw_gaussians(at::zeros({2, 3, 7}, at::kLong), 3, 8, 10, true), std::invalid_argument);
}

}  // namespace flowtrain::nets::gaussians_test
