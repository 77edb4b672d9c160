#include "sampling/images/repack.h"
#include "sampling/images/stored_picture.h"

#include <doctest/doctest.h>

#include "sampling/codecs/encode.h"
#include "sampling/datasets/entries.h"
#include "sampling/images/resize.h"
#include "tests/support/failure_helper.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/pictures.h"
#include "tests/support/settings_helper.h"

namespace flowtrain::repack_test {
namespace {

using Bytes = std::vector<std::byte>;

PictureFile repacked(const MemoryDataset::Item& item, const Repacking& how = {}) {
  ReadBuffer buffer;
  return repack(MemoryDataset({item}).read(0, buffer), how);
}

MemoryDataset::Item file_item(Bytes file) { return {Encoding::image, std::move(file)}; }

Image decoded(const Bytes& file) {
  Image image;
  decode_image(file, image);
  return image;
}

std::string failure(const MemoryDataset::Item& item, const Repacking& how = {}) {
  return failure_of<SampleError>([&] { repacked(item, how); }).what();
}

TEST_CASE("repack: files keep their bytes") {
  const auto picture = noise_picture(20, 30, 3);
  for (const auto& [file, format] :
       {std::pair(encode_jpeg(picture), FileFormat::jpeg), std::pair(encode_jpeg(picture, true), FileFormat::jpeg),
        std::pair(encode_png(picture.view()), FileFormat::png),
        std::pair(encode_webp(picture, false), FileFormat::webp)}) {
    for (const int edge : {0, 20, 100}) {
      const auto packed = repacked(file_item(file), {.edge = edge});
      CHECK(packed.format == format);
      CHECK(packed.bytes == file);
    }
  }
}

TEST_CASE("repack: pixels become PNG files of the same pixels") {
  for (const unsigned channels : {1u, 3u}) {
    const auto item = pixels_item(5, 7, channels);
    const auto packed = repacked(item);
    CHECK(packed.format == FileFormat::png);
    const auto image = decoded(packed.bytes);
    REQUIRE(image.pixels.size() == 5 * 7 * 3);
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
      CHECK(image.pixels[i] == std::to_integer<int>(item.bytes[channels == 1 ? i / 3 : i]));
  }
  CHECK(failure(pixels_item(5, 7, 2)) == "an image has 2 channels, expected 1 or 3");
  CHECK(failure(pixels_item(5, 7, 4)) == "an image has 4 channels, expected 1 or 3");
}

TEST_CASE("repack: drawn pictures become PNG files") {
  const auto entry = shapes_entry();
  const auto shapes = entry.make(settings_for(entry.keys), {});
  ReadBuffer buffer;
  const auto record = shapes->read(3, buffer);
  Image drawn;
  picture_of(record, drawn);
  CHECK(decoded(repack(record, {}).bytes).pixels == drawn.pixels);
}

TEST_CASE("repack: a region becomes a file of its own, pixel by pixel") {
  auto item = file_item(encode_jpeg(noise_picture(40, 60, 3)));
  item.region = {10.5f, 4, 31, 22.2f, 0};
  const auto packed = repacked(item);
  CHECK(packed.format == FileFormat::png);
  const auto whole = decoded(item.bytes), part = decoded(packed.bytes);
  REQUIRE(part.height == 19);
  REQUIRE(part.width == 21);
  for (int y = 0; y < part.height; ++y)
    CHECK(std::equal(part.view().row(y), part.view().row(y) + 21 * 3, whole.view().row(y + 4) + 10 * 3));
}

TEST_CASE("repack: the shorter edge is brought down, never up") {
  const auto picture = noise_picture(40, 60, 3);
  const auto png = encode_png(picture.view());
  const auto packed = repacked(file_item(png), {.edge = 16});
  CHECK(packed.format == FileFormat::png);
  const auto smaller = decoded(packed.bytes);
  CHECK(smaller.height == 16);
  CHECK(smaller.width == 24);
  Image expected;
  expected.reshape(16, 24, 3);
  resize(picture.view(), {0, 0, 60, 40}, Filter::antialias, false, 16, 24, expected.pixels.data());
  CHECK(smaller.pixels == expected.pixels);

  const auto size_of = [](const Image& from, const Repacking& how) {
    const auto image = decoded(repacked(file_item(encode_png(from.view())), how).bytes);
    return std::pair(image.height, image.width);
  };
  CHECK(size_of(noise_picture(60, 40, 3), {.edge = 16}) == std::pair(24, 16));
  CHECK(size_of(noise_picture(3, 300, 3), {.edge = 1}) == std::pair(1, 100));
  CHECK(size_of(noise_picture(30, 31, 3), {.edge = 29}) == std::pair(29, 30));
  CHECK(size_of(noise_picture(30, 31, 3), {.format = FileFormat::webp, .edge = 31}) == std::pair(30, 31));

  const auto jpeg = repacked(file_item(encode_jpeg(gradient_picture(64, 96, 3))), {.quality = 95, .edge = 32});
  CHECK(jpeg.format == FileFormat::jpeg);
  const auto gradient = gradient_picture(32, 48, 3);
  CHECK(mean_difference(decoded(jpeg.bytes).pixels, gradient.pixels) < 3);
  CHECK(repacked(file_item(encode_webp(picture, true)), {.edge = 16}).format == FileFormat::webp);
}

TEST_CASE("repack: all files in one format") {
  for (const int channels : {1, 3}) {
    const auto picture = gradient_picture(33, 47, channels);
    MemoryDataset::Item item{Encoding::pixels, {}, 33, 47, static_cast<std::uint32_t>(channels)};
    for (const auto value : picture.pixels) item.bytes.push_back(static_cast<std::byte>(value));
    Image coloured;
    coloured.reshape(33, 47, 3);
    for (std::size_t i = 0; i < coloured.pixels.size(); ++i)
      coloured.pixels[i] = picture.pixels[channels == 1 ? i / 3 : i];
    for (const auto format : {FileFormat::jpeg, FileFormat::png, FileFormat::webp}) {
      const auto good = repacked(item, {.format = format, .quality = 95});
      const auto poor = repacked(item, {.format = format, .quality = 20});
      CHECK(good.format == format);
      CHECK(format_of(good.bytes) == format);
      CHECK(mean_difference(decoded(good.bytes).pixels, coloured.pixels) < (format == FileFormat::png ? 1e-9 : 3));
      if (format != FileFormat::png) CHECK(poor.bytes.size() < good.bytes.size());
      CHECK(repacked(item, {.format = format, .quality = 95}).bytes == good.bytes);
    }
  }
  const auto jpeg = encode_jpeg(noise_picture(20, 20, 3));
  CHECK(repacked(file_item(jpeg), {.format = FileFormat::jpeg, .quality = 30}).bytes.size() < jpeg.size());
  CHECK(failure(pixels_item(1, 16384, 1), {.format = FileFormat::webp}) ==
        "WebP cannot hold an image of 16384x1 pixels: a side has at most 16383");
  CHECK(failure(pixels_item(65501, 1, 3), {.format = FileFormat::jpeg}) ==
        "JPEG cannot hold an image of 1x65501 pixels: a side has at most 65500");
}

TEST_CASE("repack: a picture that is written anew is turned as the sampler would") {
  const auto turned = file_item(encode_jpeg(gradient_picture(20, 40, 3), false, {.orientation = 6}));
  CHECK(repacked(turned, {.decoding = {.exif = Exif::apply}}).bytes == turned.bytes);
  for (const auto exif : {Exif::ignore, Exif::apply}) {
    const auto image =
        decoded(repacked(turned, {.format = FileFormat::png, .edge = 10, .decoding = {.exif = exif}}).bytes);
    CHECK(image.height == (exif == Exif::apply ? 20 : 10));
    CHECK(image.width == (exif == Exif::apply ? 10 : 20));
  }
}

TEST_CASE("repack: damage is found wherever it is, unless it is accepted") {
  const auto jpeg = encode_jpeg(noise_picture(64, 64, 3));
  const auto torn = file_item({jpeg.begin(), jpeg.begin() + static_cast<std::ptrdiff_t>(jpeg.size() - 40)});
  CHECK(failure(torn).starts_with("JPEG: "));
  CHECK(repacked(torn, {.decoding = {.warnings = Warnings::accept}}).bytes == torn.bytes);
  const auto png = encode_png(noise_picture(64, 64, 3).view());
  const auto torn_png = file_item({png.begin(), png.begin() + static_cast<std::ptrdiff_t>(png.size() - 40)});
  CHECK(failure(torn_png).starts_with("PNG: "));
  CHECK(failure(file_item({})) == "the image file is empty");
  CHECK(failure({Encoding::bytes, Bytes(10)}) == "the record holds no image");
}

}  // namespace
}  // namespace flowtrain::repack_test
