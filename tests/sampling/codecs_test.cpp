#include <doctest/doctest.h>
#include <png.h>

#include <cstring>
#include <functional>
#include <random>
#include <string>

#include "sampling/codecs/image.h"
#include "sampling/codecs/png.h"
#include "sampling/error.h"
#include "tests/sampling/pictures.h"
#include "tests/sampling/temp_folder.h"

namespace flowtrain {
namespace {

/// A PNG of any kind: rows of bytes as libpng wants them for that colour type and depth.
std::vector<std::byte> raw_png(int height, int width, int color_type, int depth, bool interlaced,
                               std::vector<std::vector<png_byte>> rows,
                               const std::function<void(png_structp, png_infop)>& more = {}) {
  std::vector<std::byte> file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &file,
      [](png_structp to, png_bytep data, std::size_t size) {
        auto* out = static_cast<std::vector<std::byte>*>(png_get_io_ptr(to));
        const auto* bytes = reinterpret_cast<const std::byte*>(data);
        out->insert(out->end(), bytes, bytes + size);
      },
      nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), depth, color_type,
               interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (more) more(png, info);
  png_write_info(png, info);
  std::vector<png_bytep> pointers;
  for (auto& row : rows) pointers.push_back(row.data());
  png_write_image(png, pointers.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return file;
}

std::string failure(std::span<const std::byte> file) {
  Image image;
  try {
    decode_image(file, image);
  } catch (const SampleError& error) {
    return error.what();
  }
  return "";
}

std::span<const std::byte> as_bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// Every shorter version, then `cases` versions with flipped bytes: each decodes or throws SampleError, with warnings
/// accepted too.
void damage(const std::vector<std::byte>& file, int cases) {
  Image image;
  int failures = 0;
  const auto attempt = [&](std::span<const std::byte> bytes) {
    try {
      decode_image(bytes, image);
    } catch (const SampleError&) {
      ++failures;
    }
    try {
      decode_image(bytes, image, Warnings::accept);
    } catch (const SampleError&) {
    }
  };
  for (std::size_t length = 0; length < file.size(); ++length) {
    // A copy of its own, so that AddressSanitizer sees a read past the end.
    const std::vector<std::byte> cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length));
    attempt(cut);
  }
  CHECK(failures >= static_cast<int>(file.size()) - 2);  // JPEG: the end marker's last byte
  std::mt19937 random(1);
  for (int i = 0; i < cases; ++i) {
    auto changed = file;
    for (int flips = 1 + static_cast<int>(random() % 4); flips > 0; --flips)
      changed[random() % changed.size()] ^= static_cast<std::byte>(1 + random() % 255);
    attempt(changed);
  }
}

}  // namespace

TEST_CASE("JPEG: colour, progressive, grey and odd sizes") {
  Image out;
  for (const bool progressive : {false, true}) {
    for (const auto& [height, width] : {std::pair{33, 47}, {1, 1}, {8, 129}}) {
      const Image image = gradient_picture(height, width, 3);
      decode_image(encode_jpeg(image, progressive), out);
      CHECK(out.height == height);
      CHECK(out.width == width);
      CHECK(out.channels == 3);
      CHECK(mean_difference(out.pixels, image.pixels) < 3);
    }
  }
  const Image grey = gradient_picture(20, 30, 1);
  decode_image(encode_jpeg(grey), out);
  REQUIRE(out.pixels.size() == 20 * 30 * 3);
  for (std::size_t i = 0; i < grey.pixels.size(); ++i) {
    CHECK(out.pixels[3 * i] == out.pixels[3 * i + 2]);
    CHECK(std::abs(out.pixels[3 * i] - grey.pixels[i]) < 4);
  }
}

TEST_CASE("JPEG: inks become light") {
  Image inks;
  inks.reshape(8, 8, 4);
  for (std::size_t i = 0; i < inks.pixels.size(); i += 4) {
    // Inverted: full cyan ink, no magenta and yellow, a fifth of black.
    const std::uint8_t pixel[] = {0, 255, 255, 204};
    std::copy_n(pixel, 4, inks.pixels.begin() + static_cast<std::ptrdiff_t>(i));
  }
  Image out;
  decode_image(encode_jpeg(inks), out);
  REQUIRE(out.channels == 3);
  CHECK(out.pixels[0] <= 3);
  CHECK(std::abs(out.pixels[1] - 204) <= 3);
  CHECK(std::abs(out.pixels[2] - 204) <= 3);
}

TEST_CASE("PNG: what is written is read") {
  Image out;
  const Image image = gradient_picture(21, 13, 3);
  decode_image(encode_png(image.view()), out);
  CHECK(out.pixels == image.pixels);

  TempFolder folder;
  const auto path = (folder.path() / "a.png").string();
  write_png(path, gradient_picture(5, 4, 1).view());
  CHECK(std::filesystem::file_size(path) > 0);
  try {
    write_png((folder.path() / "none" / "a.png").string(), image.view());
    FAIL("nothing thrown");
  } catch (const UserError& error) {
    CHECK(error.code() == Exit::snapshot);
    CHECK(std::string(error.what()).find("cannot write '") == 0);
  }
}

TEST_CASE("PNG: palettes, few bits, 16 bits, transparency and interlacing become RGB") {
  Image out;
  const auto pixel = [&](int i) {
    return std::vector<int>(out.pixels.begin() + 3 * i, out.pixels.begin() + 3 * i + 3);
  };
  decode_image(raw_png(1, 2, PNG_COLOR_TYPE_PALETTE, 8, false, {{1, 0}},
                       [](png_structp png, png_infop info) {
                         const png_color colors[] = {{10, 20, 30}, {40, 50, 60}};
                         png_set_PLTE(png, info, colors, 2);
                       }),
               out);
  CHECK(pixel(0) == std::vector{40, 50, 60});
  CHECK(pixel(1) == std::vector{10, 20, 30});

  decode_image(raw_png(1, 8, PNG_COLOR_TYPE_GRAY, 1, false, {{0b01000000}}), out);
  CHECK(pixel(0) == std::vector{0, 0, 0});
  CHECK(pixel(1) == std::vector{255, 255, 255});

  decode_image(raw_png(1, 1, PNG_COLOR_TYPE_RGB, 16, false, {{0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc}}), out);
  CHECK(pixel(0) == std::vector{0x12, 0x56, 0x9a});

  decode_image(raw_png(1, 2, PNG_COLOR_TYPE_RGB_ALPHA, 8, false, {{200, 100, 50, 255, 200, 100, 50, 0}}), out);
  CHECK(pixel(0) == std::vector{200, 100, 50});
  CHECK(pixel(1) == std::vector{0, 0, 0});
  decode_image(raw_png(1, 1, PNG_COLOR_TYPE_GRAY_ALPHA, 16, false, {{200, 0, 128, 128}}), out);
  CHECK(std::abs(pixel(0)[0] - 100) <= 1);

  std::vector<std::vector<png_byte>> rows;
  const Image image = gradient_picture(11, 9, 3);
  for (int y = 0; y < 11; ++y) rows.emplace_back(image.view().row(y), image.view().row(y) + 27);
  decode_image(raw_png(11, 9, PNG_COLOR_TYPE_RGB, 8, true, rows), out);
  CHECK(out.pixels == image.pixels);
}

TEST_CASE("damaged files say what is wrong") {
  const auto jpeg = encode_jpeg(gradient_picture(64, 64, 3));
  const auto png = encode_png(gradient_picture(64, 64, 3).view());
  CHECK(failure({}) == "the image file is empty");
  CHECK(failure(as_bytes_of("GIF89a")) == "neither a JPEG nor a PNG file");
  CHECK(failure(std::span(jpeg).first(jpeg.size() / 2)) == "JPEG: Premature end of JPEG file");
  CHECK(failure(std::span(jpeg).first(4)) != "");
  CHECK(failure(std::span(png).first(png.size() / 2)) == "PNG: truncated");

  auto huge_png = png;  // the width in the header, and the header's checksum
  const std::uint8_t width[] = {0x00, 0x00, 0xff, 0xff};
  std::memcpy(&huge_png[16], width, 4);
  std::memcpy(&huge_png[20], width, 4);
  CHECK(failure(huge_png).find("PNG: ") == 0);

  auto huge_jpeg = jpeg;
  for (std::size_t i = 0; i + 9 < huge_jpeg.size(); ++i)
    if (huge_jpeg[i] == std::byte{0xff} && huge_jpeg[i + 1] == std::byte{0xc0}) {
      const std::uint8_t size[] = {0xff, 0xdc, 0xff, 0xdc};  // 65500 x 65500
      std::memcpy(&huge_jpeg[i + 5], size, 4);
      break;
    }
  CHECK(failure(huge_jpeg) ==
        "JPEG: " + std::to_string(jpeg.size()) + " bytes cannot hold 65500x65500 pixels");
  CHECK(failure(jpeg) == "");  // a decoder that has failed decodes the next file
}

TEST_CASE("JPEG: what is only warned of is an error, unless the picture is wanted all the same") {
  const Image picture = gradient_picture(64, 64, 3);
  const auto whole = encode_jpeg(picture);
  const auto three_quarters = static_cast<std::ptrdiff_t>(whole.size() * 3 / 4);  // beyond the header
  auto garbled = whole;
  std::fill_n(garbled.begin() + three_quarters, 32, std::byte{0});
  const std::vector<std::byte> torn(whole.begin(), whole.begin() + three_quarters);
  Image whole_picture;
  decode_image(whole, whole_picture, Warnings::accept);
  for (auto& file : {garbled, torn}) {
    CHECK(failure(file).starts_with("JPEG: "));
    Image first, again;
    decode_image(file, first, Warnings::accept);
    decode_image(whole, again, Warnings::accept);
    decode_image(file, again, Warnings::accept);
    CHECK(first.height == 64);
    CHECK(first.pixels == again.pixels);
    CHECK(first.pixels != whole_picture.pixels);
  }
  // Without its header there is nothing to accept, and libpng's errors are errors.
  const auto png = encode_png(picture.view());
  for (auto file : {std::span(whole).first(100), std::span(png).first(png.size() / 2)}) {
    Image image;
    CHECK_THROWS_AS(decode_image(file, image, Warnings::accept), SampleError);
  }
}

TEST_CASE("JPEG: a picture that lost its tables is not read with those of the one before") {
  const auto whole = encode_jpeg(gradient_picture(16, 16, 3));
  auto without = whole;
  for (std::size_t at = 2; at + 4 < without.size();) {  // segments: ff, marker, length in two bytes
    const auto marker = std::to_integer<unsigned>(without[at + 1]);
    const auto bytes = 2 + 256 * std::to_integer<std::size_t>(without[at + 2]) + std::to_integer<std::size_t>(without[at + 3]);
    if (marker == 0xda) break;
    const auto begin = without.begin() + static_cast<std::ptrdiff_t>(at);
    if (marker == 0xdb)
      without.erase(begin, begin + static_cast<std::ptrdiff_t>(bytes));
    else
      at += bytes;
  }
  REQUIRE(without.size() < whole.size());
  CHECK(failure(whole) == "");
  CHECK(failure(without).find("Quantization table") != std::string::npos);
}

TEST_CASE("no damage does more than fail") {
  damage(encode_jpeg(gradient_picture(24, 20, 3)), 1000);
  damage(encode_jpeg(gradient_picture(24, 20, 3), true), 500);
  damage(encode_png(gradient_picture(24, 20, 3).view()), 1000);
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
  record.encoding = Encoding::bytes;
  CHECK_THROWS_WITH_AS(picture_of(record, scratch), "the record holds no picture", SampleError);

  const Picture part = crop_to_region(whole, {1.5f, 1, 3.2f, 99, 0});
  CHECK(part.width == 3);  // columns 1, 2 and 3
  CHECK(part.height == 3);
  CHECK(part.pixels == whole.pixels + 18 + 3);
  CHECK(crop_to_region(whole, {0, 0, 0, 0, -1}).height == 4);
  CHECK_THROWS_WITH_AS(crop_to_region(whole, {7, 0, 9, 2, 0}), "its box lies outside the picture of 6x4", SampleError);
  CHECK_THROWS_AS(Image().reshape(70000, 1, 3), SampleError);
  CHECK_THROWS_AS(Image().reshape(30000, 30000, 3), SampleError);
}

}  // namespace flowtrain
