#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "sampling/codecs/color.h"
#include "sampling/images/crop.h"
#include "sampling/images/resize.h"
#include "tests/support/pictures.h"

namespace flowtrain::image_ops_test {
namespace {

using Bytes = std::vector<std::uint8_t>;

Picture view(const Bytes& pixels, int height, int width, int channels) {
  return {pixels.data(), height, width, channels, static_cast<std::size_t>(width * channels)};
}

Bytes resized(const Picture& in, const Rect& from, int height, int width, Filter filter = Filter::antialias,
              bool mirrored = false) {
  Bytes out(static_cast<std::size_t>(height * width * in.channels));
  resize(in, from, filter, mirrored, height, width, out.data());
  return out;
}

}  // namespace

TEST_CASE("resize: within one level of Pillow") {
  // Image.fromarray(ramp).resize((width, height), BILINEAR, box) of Pillow 13.0
  const Bytes ramp{0, 10, 20, 30, 40, 50, 60, 70};
  const auto check = [](const Bytes& ours, const std::vector<int>& pillow) {
    REQUIRE(ours.size() == pillow.size());
    for (std::size_t i = 0; i < ours.size(); ++i) CHECK(std::abs(ours[i] - pillow[i]) <= 1);
  };
  const Picture row = view(ramp, 1, 8, 1);
  check(resized(row, {0, 0, 8, 1}, 1, 4), {7, 25, 45, 63});
  check(resized(row, {0, 0, 8, 1}, 1, 12), {0, 5, 12, 18, 25, 32, 38, 45, 52, 58, 65, 70});
  check(resized(row, {2, 0, 4, 1}, 1, 3), {22, 35, 48});
  check(resized(view(ramp, 8, 1, 1), {0, 0, 1, 8}, 4, 1), {7, 25, 45, 63});
}

TEST_CASE("resize: flat stays flat, the same size is a copy, any size works") {
  const Bytes flat(37 * 53 * 3, 201);
  for (const int size : {1, 5, 37, 64, 301}) {
    const auto out = resized(view(flat, 37, 53, 3), {0, 0, 53, 37}, size, size + 2);
    CHECK(std::all_of(out.begin(), out.end(), [](int value) { return value == 201; }));
  }
  const Image image = gradient_picture(9, 7, 3);
  CHECK(resized(image.view(), {0, 0, 7, 9}, 9, 7) == image.pixels);
  const auto white = resized(view(Bytes(1000 * 3, 255), 1000, 1, 3), {0, 0, 1, 1000}, 3, 3);
  CHECK(white == Bytes(27, 255));
  // A crop has rows that lie apart.
  const auto part = resized(crop(image.view(), {2, 3, 4, 5}), {0, 0, 5, 4}, 4, 5);
  CHECK(part[0] == image.pixels[(3 * 7 + 2) * 3]);
}

TEST_CASE("resize: the nearest two by two, without antialias") {
  // torch.nn.functional.interpolate(mode="bilinear", align_corners=False) of torch 2.11
  const Bytes row{0, 100, 10, 110, 20, 120, 30, 130};
  const auto two = [&](int width) { return resized(view(row, 1, 8, 1), {0, 0, 8, 1}, 1, width, Filter::bilinear); };
  CHECK(two(2) == Bytes{55, 75});
  CHECK(two(4) == Bytes{50, 60, 70, 80});
  CHECK(resized(view(row, 8, 1, 1), {0, 0, 1, 8}, 2, 1, Filter::bilinear) == Bytes{55, 75});
  CHECK(resized(view(row, 1, 8, 1), {0, 0, 8, 1}, 1, 2) != two(2));
}

TEST_CASE("resize: mirrored is what flipping it afterwards gives") {
  for (const int channels : {1, 3}) {
    const Image image = gradient_picture(41, 67, channels);
    for (const auto filter : {Filter::antialias, Filter::bilinear})
      for (const auto& [height, width] : {std::pair{13, 17}, std::pair{41, 67}, std::pair{90, 3}}) {
        auto flipped = resized(image.view(), {0, 0, 67, 41}, height, width, filter);
        flip_horizontally(flipped.data(), height, width, channels);
        CHECK(resized(image.view(), {0, 0, 67, 41}, height, width, filter, true) == flipped);
      }
  }
}

TEST_CASE("copy_window: black outside") {
  const Bytes in{1, 2, 3, 4, 5, 6};  // 2 x 3
  const auto window = [&](int x, int y, int height, int width) {
    Bytes out(static_cast<std::size_t>(height * width), 99);
    copy_window(view(in, 2, 3, 1), x, y, height, width, out.data());
    return out;
  };
  CHECK(window(0, 0, 2, 3) == in);
  CHECK(window(-1, -1, 2, 3) == Bytes{0, 0, 0, 0, 1, 2});
  CHECK(window(1, 1, 2, 3) == Bytes{5, 6, 0, 0, 0, 0});
  CHECK(window(-1, 0, 1, 5) == Bytes{0, 1, 2, 3, 0});
  CHECK(window(5, 0, 1, 2) == Bytes{0, 0});
  CHECK(window(-4, 0, 1, 2) == Bytes{0, 0});
}

TEST_CASE("flip_horizontally") {
  Bytes grey{1, 2, 3, 4, 5, 6};
  flip_horizontally(grey.data(), 2, 3, 1);
  CHECK(grey == Bytes{3, 2, 1, 6, 5, 4});
  Bytes color{1, 2, 3, 4, 5, 6};
  flip_horizontally(color.data(), 1, 2, 3);
  CHECK(color == Bytes{4, 5, 6, 1, 2, 3});
}

TEST_CASE("convert_channels") {
  Bytes out(6);
  convert_channels(Bytes{7, 9}.data(), 1, 2, 3, out.data());
  CHECK(out == Bytes{7, 7, 7, 9, 9, 9});
  convert_channels(Bytes{255, 0, 0, 255, 255, 255}.data(), 3, 2, 1, out.data());
  CHECK(out[0] == 76);
  CHECK(out[1] == 255);
}

TEST_CASE("draw_resized_crop: area and shape as asked, inside the picture") {
  const double scale[] = {0.2, 0.6}, ratio[] = {0.5, 2.0};
  std::set<double> corners;
  for (std::uint64_t position = 0; position < 500; ++position) {
    Stream random(1, Purpose::sample, position);
    const Rect part = draw_resized_crop(100, 120, scale, ratio, random);
    CHECK(part.x >= 0);
    CHECK(part.y >= 0);
    CHECK(part.x + part.width <= 120);
    CHECK(part.y + part.height <= 100);
    CHECK(part.width * part.height > 0.19 * 12000);
    CHECK(part.width * part.height < 0.61 * 12000);
    CHECK(part.width / part.height > 0.48);
    CHECK(part.width / part.height < 2.1);
    corners.insert(part.x);
  }
  CHECK(corners.size() > 40);
}

TEST_CASE("draw_resized_crop: the centre where nothing fits") {
  const double scale[] = {1, 1}, ratio[] = {0.75, 4. / 3};
  Stream random(1, Purpose::sample, 0);
  const Rect wide = draw_resized_crop(30, 1000, scale, ratio, random);
  CHECK(wide.width == 40);
  CHECK(wide.height == 30);
  CHECK(wide.x == 480);
  const Rect high = draw_resized_crop(1000, 30, scale, ratio, random);
  CHECK(high.height == 40);
  CHECK(high.y == 480);
}

}  // namespace flowtrain::image_ops_test
