#include <doctest/doctest.h>

#include <vector>

#include "sampling/core/error.h"
#include "sampling/images/fixed_point_resize.h"
#include "tests/support/pictures.h"

namespace flowtrain::fixed_point_resize_test {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes resized(const Bytes& from, int height, int width, int channels, int to_height, int to_width) {
  Bytes to(static_cast<std::size_t>(to_height * to_width * channels), 0xee);
  const auto stride = [&](int pixels) { return static_cast<std::size_t>(pixels * channels); };
  resize_fixed_point({from.data(), height, width, channels, stride(width)}, to_height, to_width,
                     {0, 0, to_height, to_width}, to.data(), stride(to_width));
  return to;
}

}  // namespace

TEST_CASE("resize_fixed_point: known answers") {
  CHECK(resized({0, 255}, 1, 2, 1, 1, 4) == Bytes{0, 64, 191, 255});
  CHECK(resized({0, 255}, 2, 1, 1, 4, 1) == Bytes{0, 64, 191, 255});
  // Every second pixel's worth: the mean of four, rounded half up.
  CHECK(resized({1, 2, 10, 20, 3, 4, 30, 41}, 2, 4, 1, 1, 2) == Bytes{3, 25});
  // No low-pass filter: shrinking by four looks at two of four pixels.
  CHECK(resized({200, 10, 20, 200}, 1, 4, 1, 1, 1) == Bytes{15});
  CHECK(resized({7, 8, 9}, 1, 1, 3, 2, 2) == Bytes{7, 8, 9, 7, 8, 9, 7, 8, 9, 7, 8, 9});
}

TEST_CASE("resize_fixed_point: the same size is a copy, a flat picture stays flat") {
  const Image picture = gradient_picture(37, 53, 3);
  CHECK(resized(picture.pixels, 37, 53, 3, 37, 53) == picture.pixels);
  for (const int level : {0, 1, 127, 254, 255}) {
    const Bytes flat(20 * 30, static_cast<std::uint8_t>(level));
    for (const auto value : resized(flat, 20, 30, 1, 33, 17)) CHECK(value == level);
  }
}

TEST_CASE("resize_fixed_point: a window is that part of the whole") {
  const Image picture = gradient_picture(41, 29, 3);
  for (const auto& [height, width] : {std::pair{97, 83}, std::pair{17, 90}, std::pair{12, 11}}) {
    const Bytes whole = resized(picture.pixels, 41, 29, 3, height, width);
    const Window window{3, 2, height - 5, width - 4};
    const std::size_t stride = static_cast<std::size_t>(window.width) * 3 + 5;
    Bytes part(stride * static_cast<std::size_t>(window.height), 0xee);
    resize_fixed_point(picture.view(), height, width, window, part.data(), stride);
    bool same = true, untouched = true;
    for (int y = 0; y < window.height; ++y) {
      const auto* row = part.data() + static_cast<std::size_t>(y) * stride;
      for (int i = 0; i < window.width * 3; ++i)
        same = same && row[i] == whole[static_cast<std::size_t>(((y + 2) * width + 3) * 3 + i)];
      for (std::size_t i = static_cast<std::size_t>(window.width) * 3; i < stride; ++i)
        untouched = untouched && row[i] == 0xee;
    }
    CHECK(same);
    CHECK(untouched);
  }
}

TEST_CASE("resize_fixed_point: channels it does not know") {
  CHECK_THROWS_AS(resized({0, 0}, 1, 1, 2, 1, 1), InternalError);
}

}  // namespace flowtrain::fixed_point_resize_test
