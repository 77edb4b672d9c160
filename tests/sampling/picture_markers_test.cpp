#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "sampling/codecs/encode.h"
#include "sampling/codecs/exif.h"
#include "sampling/core/error.h"
#include "sampling/images/stored_picture.h"
#include "tests/support/pictures.h"

namespace flowtrain::picture_markers_test {
namespace {

std::span<const std::byte> as_bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// The JPEG file with more segments right behind its first two bytes, and without those of a kind.
std::vector<std::byte> with_segments(const std::vector<std::byte>& jpeg, const std::vector<std::string>& app1,
                                     unsigned without = 0) {
  std::vector<std::byte> file(jpeg.begin(), jpeg.begin() + 2);
  for (const auto& data : app1) {
    file.insert(file.end(), {std::byte{0xff}, std::byte{0xe1}});
    append_number(file, static_cast<std::uint32_t>(data.size() + 2), false, 2);
    for (const char c : data) file.push_back(static_cast<std::byte>(c));
  }
  std::size_t at = 2;
  for (unsigned marker = 0; (marker = std::to_integer<unsigned>(jpeg[at + 1])) != 0xda;) {  // until the pixels
    const std::size_t bytes = 2 + number_in(std::span(jpeg).subspan(at + 2, 2), false);
    const auto begin = jpeg.begin() + static_cast<std::ptrdiff_t>(at);
    if (marker != without) file.insert(file.end(), begin, begin + static_cast<std::ptrdiff_t>(bytes));
    at += bytes;
  }
  file.insert(file.end(), jpeg.begin() + static_cast<std::ptrdiff_t>(at), jpeg.end());
  return file;
}

/// The stored picture that is `seen` with this orientation.
Image stored_as(const Image& seen, int orientation) {
  const bool turned = orientation > 4;
  const int height = turned ? seen.width : seen.height, width = turned ? seen.height : seen.width;
  Image stored;
  stored.reshape(height, width, seen.channels);
  const auto channels = static_cast<std::size_t>(seen.channels);
  for (int y = 0; y < seen.height; ++y)
    for (int x = 0; x < seen.width; ++x) {
      const Rect at = as_stored({static_cast<double>(x), static_cast<double>(y), 1, 1}, orientation, height, width);
      const auto from = static_cast<std::size_t>(y * seen.width + x) * channels;
      const auto to = static_cast<std::size_t>(at.y * width + at.x) * channels;
      std::copy_n(&seen.pixels[from], channels, &stored.pixels[to]);
    }
  return stored;
}

Image decoded(std::span<const std::byte> file, Exif exif) {
  Record record;
  record.encoding = Encoding::image;
  record.bytes = file;
  StoredPicture picture(record, {.exif = exif});
  const int height = picture.height(), width = picture.width();
  const Rect all{0, 0, static_cast<double>(width), static_cast<double>(height)};
  const auto part = picture.decode(all, {0, 0, height, width}, height, width);
  Image image;
  image.reshape(height, width, 3);
  for (int y = 0; y < height; ++y)
    std::copy_n(part.picture.row(y), 3 * width, &image.pixels[static_cast<std::size_t>(3 * y * width)]);
  return image;
}

}  // namespace

TEST_CASE("JPEG: inks are inverted, with Adobe's marker or without") {
  const auto with = encode_jpeg(gradient_picture(16, 24, 4)), without = with_segments(with, {}, 0xee);
  REQUIRE(without.size() < with.size());
  Image one, other;
  decode_image(with, one);
  decode_image(without, other);
  CHECK(one.pixels == other.pixels);
}

TEST_CASE("Exif: PNG and WebP files are turned as JPEGs are, in all eight ways") {
  const Image seen = noise_picture(9, 14, 3);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    CAPTURE(orientation);
    const Image stored = stored_as(seen, orientation);
    for (const bool little : {false, true}) {
      CAPTURE(little);
      const auto exif = exif_block(orientation, little);
      const auto png = encode_png(stored.view());
      const auto webp = encode_webp(stored, true);
      std::vector<std::byte> named{std::byte{'E'}, std::byte{'x'}, std::byte{'i'},
                                   std::byte{'f'}, std::byte{0},   std::byte{0}};
      named.insert(named.end(), exif.begin(), exif.end());
      for (const auto& file : {with_chunk(png, png_chunk("eXIf", exif)), with_chunk(png, png_chunk("eXIf", exif), true),
                               with_exif(webp, stored, exif), with_exif(webp, stored, named)}) {
        const Image turned = decoded(file, Exif::apply);
        CHECK(turned.height == 9);
        CHECK(turned.pixels == seen.pixels);
        CHECK(decoded(file, Exif::ignore).pixels == stored.pixels);
      }
    }
  }
}

TEST_CASE("Exif: a block of a PNG or WebP file that is damaged turns nothing") {
  const Image image = noise_picture(5, 7, 3);
  const auto png = encode_png(image.view());
  const auto turned = exif_block(6);
  const auto is_stored = [&](const std::vector<std::byte>& file) {
    const Image seen = decoded(file, Exif::apply);
    CHECK(seen.height == image.height);
    CHECK(seen.pixels == image.pixels);
  };
  auto wrong_checksum = png_chunk("eXIf", turned);
  wrong_checksum.back() ^= std::byte{1};
  is_stored(with_chunk(png, wrong_checksum));
  for (std::size_t bytes = 0; bytes < 20; ++bytes) {
    const std::vector<std::byte> cut(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(bytes));
    is_stored(with_chunk(png, png_chunk("eXIf", cut)));
    is_stored(with_exif(encode_webp(image, true), image, cut));
  }
  auto other_number = turned;
  other_number[3] = std::byte{43};  // not TIFF's 42
  is_stored(with_chunk(png, png_chunk("eXIf", other_number)));
  for (const int orientation : {0, 9, 255}) is_stored(with_chunk(png, png_chunk("eXIf", exif_block(orientation))));
  auto torn = with_exif(encode_webp(image, true), image, turned);
  torn.resize(torn.size() - 10);
  try {
    is_stored(torn);
  } catch (const SampleError&) {  // libwebp may refuse a file that is cut
  }
}

TEST_CASE("Exif: types and byte orders of numbers, several blocks, and XMP") {
  const auto entry = [](bool little, std::uint32_t type, std::uint32_t count, std::uint32_t value) {
    const int size = type == 1 ? 1 : type == 3 ? 2 : 4;
    std::vector<std::byte> block;
    block.insert(block.end(), 2, std::byte(little ? 'I' : 'M'));
    for (const auto& [number, bytes] : {std::pair{42u, 2}, {8u, 4}, {1u, 2}, {0x112u, 2}, {type, 2}, {count, 4}})
      append_number(block, number, little, bytes);
    append_number(block, value, little, size);
    block.resize(8 + 2 + 12 + 4);
    return block;
  };
  for (const bool little : {false, true}) {
    CAPTURE(little);
    for (const std::uint32_t type : {3, 4}) CHECK(orientation_of(entry(little, type, 1, 6), {}) == 6);
    CHECK(orientation_of(entry(little, 3, 2, 6), {}) == 6);
    CHECK(orientation_of(entry(little, 1, 1, 6), {}) == 1);  // bytes are no number, as Pillow has it
    CHECK(orientation_of(entry(little, 4, 1, 0x10006), {}) == 1);
    CHECK(orientation_of(entry(little, 4, 2, 0xffffff00), {}) == 1);  // said to be elsewhere: there is nothing
  }
  const std::string attribute = "<rdf:Description tiff:Orientation=\"6\"/>";
  const auto xmp = as_bytes_of(attribute);
  CHECK(orientation_of({}, xmp) == 6);
  CHECK(orientation_of(exif_block(3), xmp) == 3);
  CHECK(orientation_of(exif_block(1), xmp) == 1);
  CHECK(orientation_of({}, as_bytes_of("tiff:Orientation tiff:Orientation='3' <tiff:Orientation>8</tiff:")) == 8);
  for (const auto* none : {"", "tiff:Orientation", "tiff:Orientation=\"", "tiff:Orientation=\"x\"", "Orientation=\"6\"",
                           "tiff:Orientation=\"9\""})
    CHECK(orientation_of({}, as_bytes_of(none)) == 1);

  const auto height = [](const std::vector<std::byte>& file) { return decoded(file, Exif::apply).height; };
  const auto jpeg = encode_jpeg(gradient_picture(8, 16, 3));
  const auto block = [](int orientation) {
    std::string text("Exif\0\0", 6);
    for (const auto byte : exif_block(orientation)) text += static_cast<char>(byte);
    return text;
  };
  const std::string packet = std::string("http://ns.adobe.com/xap/1.0/") + '\0' + attribute;
  CHECK(height(with_segments(jpeg, {packet})) == 16);
  CHECK(height(with_segments(jpeg, {packet, block(6)})) == 16);
  CHECK(height(with_segments(jpeg, {packet, block(1)})) == 8);
  CHECK(height(with_segments(jpeg, {block(1), block(6)})) == 8);
  const Image image = noise_picture(5, 7, 3);
  std::vector<std::byte> text;
  for (const char c : std::string("XML:com.adobe.xmp\0\0\0\0\0", 22) + attribute)
    text.push_back(static_cast<std::byte>(c));
  CHECK(height(with_chunk(encode_png(image.view()), png_chunk("iTXt", text))) == 7);
}

TEST_CASE("a picture of another size than is annotated is refused, with the way out if Exif explains it") {
  const auto turned = encode_jpeg(gradient_picture(64, 96, 3), false, {1, 1, 0, 6});  // seen: 96 high, 64 wide
  const auto error = [&](std::uint32_t height, std::uint32_t width, Exif exif) {
    const Record record{.encoding = Encoding::image, .bytes = turned, .height = height, .width = width};
    Image image;
    std::string texts[2];
    for (const bool whole : {false, true}) try {
        whole ? static_cast<void>(picture_of(record, image, {.exif = exif}))
              : static_cast<void>(StoredPicture(record, {.exif = exif}));
      } catch (const SampleError& caught) {
        texts[whole] = caught.what();
      }
    CHECK(texts[0] == texts[1]);
    return texts[0];
  };
  CHECK(error(0, 0, Exif::ignore) == "");
  CHECK(error(0, 96, Exif::ignore) == "");
  CHECK(error(64, 96, Exif::ignore) == "");
  CHECK(error(96, 64, Exif::apply) == "");
  CHECK(error(32, 48, Exif::ignore) == "the annotation is for an image of 48x32 pixels, but this one has 96x64");
  CHECK(error(0, 48, Exif::ignore) == "the annotation is for an image of 48x64 pixels, but this one has 96x64");
  CHECK(error(96, 64, Exif::ignore) ==
        "the annotation is for an image of 64x96 pixels, but this one has 96x64; it fits "
        "the image turned by Exif: set sampler.exif = \"apply\"");
  CHECK(error(64, 96, Exif::apply) ==
        "the annotation is for an image of 96x64 pixels, but this one has 64x96; it fits "
        "the stored image: set sampler.exif = \"ignore\"");
}

TEST_CASE("Exif: the camera's orientation, by choice") {
  // Seen: red left of green above, blue left of white below, each a quarter of 64 x 96 pixels.
  Image seen;
  seen.reshape(64, 96, 3);
  for (int y = 0; y < 64; ++y)
    for (int x = 0; x < 96; ++x) {
      const bool right = x >= 48, below = y >= 32;
      auto* pixel = &seen.pixels[static_cast<std::size_t>((y * 96 + x) * 3)];
      pixel[0] = right == below ? 255 : 0;
      pixel[1] = right ? 255 : 0;
      pixel[2] = below ? 255 : 0;
    }
  for (int orientation = 1; orientation <= 8; ++orientation) {
    CAPTURE(orientation);
    const bool turned = orientation > 4;
    const int height = turned ? 96 : 64, width = turned ? 64 : 96;
    Image stored;
    stored.reshape(height, width, 3);
    for (int y = 0; y < 64; ++y)
      for (int x = 0; x < 96; ++x) {
        const Rect at = as_stored({static_cast<double>(x), static_cast<double>(y), 1, 1}, orientation, height, width);
        const Rect back = as_seen(at, orientation, height, width);
        REQUIRE(back.x == x);
        REQUIRE(back.y == y);
        const auto to = static_cast<std::size_t>((at.y * width + at.x) * 3);
        std::copy_n(&seen.pixels[static_cast<std::size_t>((y * 96 + x) * 3)], 3, &stored.pixels[to]);
      }
    Image again;
    orient(stored.view(), orientation, again);
    CHECK(again.pixels == seen.pixels);

    const auto file = encode_jpeg(stored, false, {1, 1, 0, orientation});
    Record record;
    record.encoding = Encoding::image;
    record.bytes = file;
    StoredPicture as_it_is(record);
    CHECK(as_it_is.height() == height);
    for (const int divisor : {1, 2}) {
      StoredPicture picture(record, {.exif = Exif::apply});
      REQUIRE(picture.height() == 64);
      REQUIRE(picture.width() == 96);
      // The upper right corner, with 9 pixels of the left: the green quarter.
      const auto part = picture.decode({39, 0, 57, 33}, {39, 0, 33, 57}, 33 / divisor, 57 / divisor);
      CHECK(part.from.width == 57.0 / divisor);
      const auto colour = [&](double x, double y) {
        const auto* pixel = part.picture.row(static_cast<int>(part.from.y + y / divisor)) +
                            3 * static_cast<int>(part.from.x + x / divisor);
        return (pixel[0] > 127) * 4 + (pixel[1] > 127) * 2 + (pixel[2] > 127);
      };
      CHECK(colour(4, 10) == 4);
      CHECK(colour(30, 10) == 2);
      CHECK(colour(52, 26) == 2);
    }
  }
}

}  // namespace flowtrain::picture_markers_test
