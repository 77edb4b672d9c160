#include <doctest/doctest.h>
#include <png.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <string>

#include "sampling/codecs/encode.h"
#include "sampling/codecs/exif.h"
#include "sampling/codecs/picture_reader.h"
#include "sampling/core/error.h"
#include "tests/support/pictures.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::codecs_test {
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
  // What may lack: of a JPEG the end mark's last byte, of a PNG its end mark.
  CHECK(failures >= static_cast<int>(file.size()) - 12);
  std::mt19937 random(1);
  for (int i = 0; i < cases; ++i) {
    auto changed = file;
    for (int flips = 1 + static_cast<int>(random() % 4); flips > 0; --flips)
      changed[random() % changed.size()] ^= static_cast<std::byte>(1 + random() % 255);
    attempt(changed);
  }
}

/// Random parts of a file's picture against the whole of it, at every scale; counts the rows that differ.
int wrong_rows(std::span<const std::byte> file, int height, int width) {
  std::mt19937 random(1);
  const auto below = [&](int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); };
  const auto read = [&](const Window& part, int divisor, Image& out) {
    PictureReader& reader = open_picture(file, Warnings::bad);
    REQUIRE(reader.height() == height);
    REQUIRE(reader.width() == width);
    return reader.read(part, divisor, out);
  };
  int wrong = 0;
  Image all, some;
  for (int divisor = 1; divisor <= open_picture(file, Warnings::bad).largest_divisor(); divisor *= 2) {
    const int rows = (height + divisor - 1) / divisor, columns = (width + divisor - 1) / divisor;
    const Picture whole = read({0, 0, rows, columns}, divisor, all);
    CHECK(whole.pixels == all.pixels.data());
    for (int i = 0; i < 20; ++i) {
      const int x = below(columns), y = below(rows);
      const Window window{x, y, 1 + below(rows - y), 1 + below(columns - x)};
      const Picture part = read(window, divisor, some), same = crop(whole, window);
      REQUIRE(part.height == window.height);
      REQUIRE(part.width == window.width);
      for (int row = 0; row < part.height; ++row)
        wrong += std::memcmp(part.row(row), same.row(row), static_cast<std::size_t>(part.width) * 3) != 0;
    }
  }
  return wrong;
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

TEST_CASE("PNG: pixels that are packed with a larger window than is stated are read") {
  Image rows = noise_picture(40, 200, 3);  // equal rows, 601 bytes apart
  for (int y = 1; y < rows.height; ++y) std::copy_n(rows.row(0), 600, rows.row(y));
  const auto png = encode_png(rows.view());
  constexpr std::size_t around_bytes = 12;
  const auto type = as_bytes_of("IDAT");
  const auto found = std::search(png.begin(), png.end(), type.begin(), type.end());
  REQUIRE(found != png.end());
  const auto begin = found - 4;
  const std::size_t length = number_in(std::span(png).subspan(static_cast<std::size_t>(begin - png.begin()), 4), false);
  std::vector<std::byte> packed(found + 4, found + 4 + static_cast<std::ptrdiff_t>(length));
  packed[0] = std::byte{0x08};  // 256 bytes
  packed[1] = std::byte{0x1d};  // makes both a multiple of 31
  std::vector<std::byte> stated(png.begin(), begin);
  const auto chunk = png_chunk("IDAT", packed);
  stated.insert(stated.end(), chunk.begin(), chunk.end());
  stated.insert(stated.end(), begin + static_cast<std::ptrdiff_t>(around_bytes + length), png.end());
  Image out;
  decode_image(stated, out);
  CHECK(out.pixels == rows.pixels);
}

TEST_CASE("PNG: no end mark and wrong checksums are borne where the pixels unfold, as Pillow bears them") {
  const Image image = noise_picture(20, 30, 3);
  const auto whole = encode_png(image.view());
  constexpr std::size_t end_bytes = 12, checksum_bytes = 4;
  const auto type = as_bytes_of("IDAT");
  const auto data = std::search(whole.begin(), whole.end(), type.begin(), type.end()) + 4;
  const auto pixels_end = whole.end() - (end_bytes + checksum_bytes);
  REQUIRE(data < pixels_end);
  const auto decoded = [&](std::vector<std::byte> file) {
    Image out;
    decode_image(file, out);
    return out.pixels == image.pixels;
  };
  CHECK(decoded({whole.begin(), whole.end() - end_bytes}));
  auto changed = whole;
  changed[static_cast<std::size_t>(pixels_end - whole.begin())] ^= std::byte{1};
  CHECK(decoded(changed));
  changed[static_cast<std::size_t>(pixels_end - whole.begin()) - 1] ^=
      std::byte{1};  // zlib's own checksum of the pixels
  CHECK(failure(changed) == "PNG: IDAT: incorrect data check");
  changed = whole;
  changed[16] ^= std::byte{1};  // the width; the header's checksum does not fit
  CHECK(failure(changed) == "PNG: IHDR: CRC error");
  CHECK(failure(std::span(whole).first(whole.size() - end_bytes - 10)) == "PNG: truncated");
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
    CHECK(error.code() == ExitCode::snapshot);
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
  CHECK(failure(as_bytes_of("nothing")) == "this is not a JPEG, PNG or WebP file");
  CHECK(failure(as_bytes_of("GIF89a")) == "this is not a JPEG, PNG or WebP file, but a GIF file: convert it to PNG");
  CHECK(failure(as_bytes_of({"II*\0\10", 5})).ends_with(", but a TIFF file: convert it to PNG"));
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
  CHECK(failure(huge_jpeg) == "JPEG: " + std::to_string(jpeg.size()) + " bytes cannot hold 65500x65500 pixels");
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

TEST_CASE("a part is exactly that part of the whole") {
  std::vector<std::vector<std::byte>> files;
  for (const bool progressive : {false, true}) {
    for (const auto& form : {JpegForm{1, 1}, {2, 1}, {1, 2}, {2, 2}, {2, 2, 1}})
      files.push_back(encode_jpeg(noise_picture(117, 203, 3), progressive, form));
    files.push_back(encode_jpeg(noise_picture(117, 203, 1), progressive));
    files.push_back(encode_jpeg(noise_picture(117, 203, 4), progressive));
  }
  for (auto& file : files) CHECK(wrong_rows(file, 117, 203) == 0);
  CHECK(wrong_rows(encode_png(noise_picture(117, 203, 3).view()), 117, 203) == 0);
  std::vector<std::vector<png_byte>> rows(9, std::vector<png_byte>(11 * 3));
  for (std::size_t i = 0; i < 9 * 33; ++i) rows[i / 33][i % 33] = static_cast<png_byte>(i * 37);
  CHECK(wrong_rows(raw_png(9, 11, PNG_COLOR_TYPE_RGB, 8, true, rows), 9, 11) == 0);
  for (const bool lossless : {false, true})
    for (const int channels : {3, 4}) {
      const auto file = encode_webp(noise_picture(117, 203, channels), lossless);
      CHECK(wrong_rows(file, 117, 203) == 0);
    }
}

TEST_CASE("WebP: colours, transparency and damage") {
  const Image image = gradient_picture(33, 47, 3);
  Image out;
  decode_image(encode_webp(image, true), out);
  CHECK(out.pixels == image.pixels);
  decode_image(encode_webp(image, false), out);
  CHECK(mean_difference(out.pixels, image.pixels) < 4);
  Image clear = noise_picture(2, 2, 4);
  clear.pixels = {200, 100, 50, 255, 200, 100, 50, 0, 200, 100, 50, 51, 0, 0, 0, 255};
  decode_image(encode_webp(clear, true), out);
  CHECK(out.pixels == std::vector<std::uint8_t>{200, 100, 50, 0, 0, 0, 40, 20, 10, 0, 0, 0});
  const auto file = encode_webp(noise_picture(24, 20, 3), false);
  CHECK(failure(std::span(file).first(20)) == "WebP: the header is damaged or cut short");
  CHECK(failure(std::span(file).first(file.size() / 2)) == "WebP: the data is damaged or cut short");
}

TEST_CASE("JPEG: damage is found in what is read") {
  auto file = encode_jpeg(noise_picture(64, 64, 3));
  std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(file.size() * 3 / 4), 32, std::byte{0});
  Image out;
  CHECK_THROWS_AS(open_jpeg(file, Warnings::bad).read({0, 56, 8, 64}, 1, out), SampleError);
  CHECK(open_jpeg(file, Warnings::bad).read({8, 0, 16, 20}, 1, out).width == 20);
}

TEST_CASE("JPEG: a picture that lost its tables is not read with those of the one before") {
  const auto whole = encode_jpeg(gradient_picture(16, 16, 3));
  auto without = whole;
  for (std::size_t at = 2; at + 4 < without.size();) {  // segments: ff, marker, length in two bytes
    const auto marker = std::to_integer<unsigned>(without[at + 1]);
    const auto bytes =
        2 + 256 * std::to_integer<std::size_t>(without[at + 2]) + std::to_integer<std::size_t>(without[at + 3]);
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

}  // namespace flowtrain::codecs_test
