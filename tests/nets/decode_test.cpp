#include "nets/cornernet/decode.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

namespace flowtrain::decode_test {

using namespace flowtrain::nets;

namespace {

constexpr int classes = 2, size = 8;

/// Maps of two classes without any corner, and with equal tags.
CornerMaps empty_maps() {
  const auto heat = [] { return at::full({1, classes, size, size}, -9.0); };
  return {heat(),
          heat(),
          at::zeros({1, 1, size, size}),
          at::zeros({1, 1, size, size}),
          at::zeros({1, 2, size, size}),
          at::zeros({1, 2, size, size})};
}

void put(at::Tensor& map, int channel, int y, int x, float value) { map[0][channel][y][x] = value; }

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// The rows that were not rejected and whose corners both stand out.
std::vector<std::vector<float>> found(const CornerMaps& maps,
                                      const DecodeOptions& options = {.top_k = 4, .num_dets = 16}) {
  const at::Tensor rows = decode(maps, options)[0];
  std::vector<std::vector<float>> boxes;
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    const float* row = rows[i].const_data_ptr<float>();
    if (row[5] > 0.5F && row[6] > 0.5F && row[4] > -1) boxes.emplace_back(row, row + 8);
  }
  return boxes;
}

/// A box of class 1 from cell (1, 2) to cell (5, 6), (y, x).
CornerMaps one_box() {
  CornerMaps maps = empty_maps();
  put(maps.tl_heat, 1, 1, 2, 3);
  put(maps.br_heat, 1, 5, 6, 1);
  return maps;
}

}  // namespace

TEST_CASE("two corners make a box, with their offsets") {
  CornerMaps maps = one_box();
  put(maps.tl_off, 0, 1, 2, 0.25F);
  put(maps.tl_off, 1, 1, 2, 0.5F);
  put(maps.br_off, 0, 5, 6, 0.75F);
  const auto boxes = found(maps);
  REQUIRE(boxes.size() == 1);
  const std::vector<float>& box = boxes[0];
  CHECK(std::vector<float>(box.begin(), box.begin() + 4) == std::vector<float>{2.25F, 1.5F, 6.75F, 5});
  CHECK(box[4] == doctest::Approx((sigmoid(3) + sigmoid(1)) / 2));
  CHECK(box[5] == doctest::Approx(sigmoid(3)));
  CHECK(box[6] == doctest::Approx(sigmoid(1)));
  CHECK(box[7] == 1);
}

TEST_CASE("pairs are rejected by class, tag and order") {
  CornerMaps maps = one_box();
  put(maps.br_tag, 0, 5, 6, 0.5F);
  CHECK(found(maps).size() == 1);
  put(maps.br_tag, 0, 5, 6, 0.6F);
  CHECK(found(maps).empty());

  maps = one_box();
  std::swap(maps.tl_heat, maps.br_heat);  // the bottom right corner above the top left one
  CHECK(found(maps).empty());

  maps = one_box();
  put(maps.br_heat, 1, 5, 6, -9);
  put(maps.br_heat, 0, 5, 6, 3);
  CHECK(found(maps).empty());
}

TEST_CASE("only the greatest of its neighbours is a corner") {
  CornerMaps maps = one_box();
  put(maps.tl_heat, 1, 1, 3, 2);
  CHECK(found(maps).size() == 1);
  CHECK(found(maps, {.top_k = 4, .nms_kernel = 1, .num_dets = 16}).size() == 2);
}

TEST_CASE("boxes at the border are refused if asked for") {
  CornerMaps maps = one_box();
  const DecodeOptions no_border{.top_k = 4, .num_dets = 16, .no_border = true};
  CHECK(found(maps, no_border).size() == 1);
  put(maps.tl_heat, 1, 4, 0, 5);  // on the first column
  CHECK(found(maps).size() == 2);
  CHECK(found(maps, no_border).size() == 1);
  put(maps.br_heat, 1, size - 1, 7, 5);  // on the last row
  CHECK(found(maps).size() == 4);
  CHECK(found(maps, no_border).size() == 1);
}

TEST_CASE("the best come first, the rejected last") {
  CornerMaps maps = one_box();
  put(maps.tl_heat, 1, 4, 4, 2);
  put(maps.tl_tag, 0, 4, 4, 9);  // fits no other corner
  const at::Tensor scores = decode(maps, {.top_k = 4, .num_dets = 16})[0].select(1, 4);
  CHECK(scores.slice(0, 1).le(scores.slice(0, 0, -1)).all().item<bool>());
  CHECK(scores[0].item<float>() > 0.5F);
  CHECK(scores[15].item<float>() == -1);
}

TEST_CASE("options that cannot be met") {
  const CornerMaps maps = empty_maps();
  CHECK_THROWS_WITH_AS(decode(maps, {.nms_kernel = 2}), "decode: nms_kernel is 2, expected an odd number",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(decode(maps, {.top_k = 200}),
                       "decode: top_k is 200, expected 1 to 128, the cells of all classes", std::invalid_argument);
  CHECK_THROWS_WITH_AS(decode(maps, {.top_k = 5, .num_dets = 26}),
                       "decode: num_dets is 26, expected 1 to 25, top_k squared", std::invalid_argument);
}

}  // namespace flowtrain::decode_test
