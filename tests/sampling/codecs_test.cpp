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

namespace {

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

}  // namespace

TEST_CASE("JPEG: inks are inverted, with Adobe's marker or without") {
  const auto with = encode_jpeg(gradient_picture(16, 24, 4)), without = with_segments(with, {}, 0xee);
  REQUIRE(without.size() < with.size());
  Image one, other;
  decode_image(with, one);
  decode_image(without, other);
  CHECK(one.pixels == other.pixels);
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
  CHECK(failure(as_bytes_of("nothing")) == "neither a JPEG nor a PNG nor a WebP file");
  CHECK(failure(as_bytes_of("GIF89a")) ==
        "neither a JPEG nor a PNG nor a WebP file, but a GIF file: convert it to PNG");
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

namespace {

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
  CHECK(error(32, 48, Exif::ignore) == "the annotation is of a picture of 48x32 pixels, this one has 96x64");
  CHECK(error(0, 48, Exif::ignore) == "the annotation is of a picture of 48x64 pixels, this one has 96x64");
  CHECK(error(96, 64, Exif::ignore) ==
        "the annotation is of a picture of 64x96 pixels, this one has 96x64; it fits "
        "the picture as Exif turns it: set sampler.exif = \"apply\"");
  CHECK(error(64, 96, Exif::apply) ==
        "the annotation is of a picture of 96x64 pixels, this one has 64x96; it fits "
        "the picture as it is stored: set sampler.exif = \"ignore\"");
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

TEST_CASE("JPEG: damage is found in what is read") {
  auto file = encode_jpeg(noise_picture(64, 64, 3));
  std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(file.size() * 3 / 4), 32, std::byte{0});
  Image out;
  CHECK_THROWS_AS(open_jpeg(file, Warnings::bad).read({0, 56, 8, 64}, 1, out), SampleError);
  CHECK(open_jpeg(file, Warnings::bad).read({8, 0, 16, 20}, 1, out).width == 20);
}

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
                       "pixels of 65536x65536x4 (taken: 2^28 pixels and 4 channels at most)", SampleError);
  CHECK_THROWS_WITH_AS(picture_of({0, Encoding::pixels, line, 1, 16'384, 5}, scratch),
                       "pixels of 1x16384x5 (taken: 2^28 pixels and 4 channels at most)", SampleError);
  record.encoding = Encoding::bytes;
  CHECK_THROWS_WITH_AS(picture_of(record, scratch), "the record holds no picture", SampleError);

  const auto crop_to_region = [&](const Box& region) {
    return crop(whole, window_of(whole.height, whole.width, region));
  };
  const Picture part = crop_to_region({1.5f, 1, 3.2f, 99, 0});
  CHECK(part.width == 3);  // columns 1, 2 and 3
  CHECK(part.height == 3);
  CHECK(part.pixels == whole.pixels + 18 + 3);
  CHECK(crop_to_region({0, 0, 0, 0, -1}).height == 4);
  CHECK_THROWS_WITH_AS(crop_to_region({7, 0, 9, 2, 0}), "its box lies outside the picture of 6x4", SampleError);
  CHECK_THROWS_AS(Image().reshape(70000, 1, 3), SampleError);
  CHECK_THROWS_AS(Image().reshape(30000, 30000, 3), SampleError);
}

}  // namespace flowtrain
