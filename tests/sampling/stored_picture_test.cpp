#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "sampling/codecs/encode.h"
#include "sampling/core/error.h"
#include "sampling/images/stored_picture.h"
#include "tests/support/pictures.h"

namespace flowtrain::stored_picture_test {

TEST_CASE("a stored picture: only what is needed") {
  const auto file = encode_jpeg(gradient_picture(400, 600, 3));
  Record record;
  record.encoding = Encoding::image;
  record.bytes = file;
  Image scratch;
  const Picture whole = picture_of(record, scratch);
  const auto read = [&](const Rect& part, const Window& within, int height, int width) {
    StoredPicture picture(record);
    CHECK(picture.height() == 400);
    CHECK(picture.channels() == 3);
    return picture.decode(part, within, height, width);
  };
  // Nothing outside `within`.
  const auto cut = read({100, 50, 30, 40}, {100, 50, 40, 30}, 40, 30);
  CHECK(cut.picture.height == 40);
  CHECK(cut.picture.width == 30);
  CHECK(cut.from.x == 0);
  CHECK(std::memcmp(cut.picture.row(39), crop(whole, {100, 89, 1, 30}).pixels, 90) == 0);
  // As far as a filter of 1.5 looks, and one more.
  const auto around = read({100, 50, 30, 40}, {0, 0, 400, 600}, 40, 20);
  CHECK(around.from.x == 3);
  CHECK(around.picture.width == 36);
  CHECK(around.from.y == 2);
  // A quarter is enough: 4 · 50 ≤ 220 < 8 · 50.
  const auto quarter = read({101, 50, 220, 300}, {101, 50, 300, 220}, 50, 50);
  CHECK(quarter.from.width == 55);
  CHECK(quarter.from.x == 0.25);
  CHECK(quarter.picture.width == 56);
  CHECK(quarter.picture.height == 76);
  CHECK(std::abs(quarter.picture.row(10)[0] - whole.row(50 + 40)[3 * 101]) < 6);
  StoredPicture in_full(record, {.fast = false});
  const auto all = in_full.decode({101, 50, 220, 300}, {101, 50, 300, 220}, 50, 50);
  CHECK(all.from.width == 220);
  CHECK(std::memcmp(all.picture.row(0), whole.row(50) + 3 * 101, 660) == 0);
}

TEST_CASE("a record's picture") {
  Image scratch;
  std::vector<std::byte> bytes(4 * 6 * 3, std::byte{9});
  Record record{0, Encoding::pixels, bytes, 4, 6, 3};
  const Picture whole = picture_of(record, scratch);
  CHECK(whole.pixels == reinterpret_cast<const std::uint8_t*>(bytes.data()));  // no copy
  CHECK(whole.stride_bytes == 18);

  record.height = 5;
  CHECK_THROWS_WITH_AS(picture_of(record, scratch), "pixels of 5x6x3 do not fit 72 stored bytes", SampleError);
  record.height = 0;
  CHECK_THROWS_AS(picture_of(record, scratch), SampleError);
  std::vector<std::byte> line(81'920);
  CHECK(picture_of({0, Encoding::pixels, line, 1, 81'920, 1}, scratch).width == 81'920);
  CHECK_THROWS_WITH_AS(picture_of({0, Encoding::pixels, line, 1 << 16, 1 << 16, 4}, scratch),
                       "pixels of 65536x65536x4 (allowed: up to 2^28 pixels and 4 channels)", SampleError);
  CHECK_THROWS_WITH_AS(picture_of({0, Encoding::pixels, line, 1, 16'384, 5}, scratch),
                       "pixels of 1x16384x5 (allowed: up to 2^28 pixels and 4 channels)", SampleError);
  record.encoding = Encoding::bytes;
  CHECK_THROWS_WITH_AS(picture_of(record, scratch), "the record holds no image", SampleError);

  const auto crop_to_region = [&](const Box& region) {
    return crop(whole, window_of(whole.height, whole.width, region));
  };
  const Picture part = crop_to_region({1.5f, 1, 3.2f, 99, 0});
  CHECK(part.width == 3);  // columns 1, 2 and 3
  CHECK(part.height == 3);
  CHECK(part.pixels == whole.pixels + 18 + 3);
  CHECK(crop_to_region({0, 0, 0, 0, -1}).height == 4);
  CHECK_THROWS_WITH_AS(crop_to_region({7, 0, 9, 2, 0}), "the box is outside of the image of 6x4", SampleError);
  CHECK_THROWS_AS(Image().reshape(70000, 1, 3), SampleError);
  CHECK_THROWS_AS(Image().reshape(30000, 30000, 3), SampleError);
}

}  // namespace flowtrain::stored_picture_test
