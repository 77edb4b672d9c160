#include "sampling/codecs/image.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "sampling/codecs/jpeg.h"
#include "sampling/codecs/png.h"
#include "sampling/datasets/shapes.h"
#include "sampling/error.h"
#include "sampling/images/color.h"

namespace flowtrain {
namespace {

constexpr std::uint64_t max_pixels = std::uint64_t{1} << 28;
constexpr std::uint64_t max_side = 65535;  // JPEG's own

bool starts_with(std::span<const std::byte> bytes, const char* prefix, std::size_t size) {
  return bytes.size() >= size && std::memcmp(bytes.data(), prefix, size) == 0;
}

Picture stored_pixels(const Record& record) {
  const auto wanted = std::uint64_t{record.height} * record.width * record.channels;
  if (record.height > max_side || record.width > max_side || record.channels > 4 || wanted == 0 ||
      record.bytes.size() != wanted)
    throw SampleError("pixels of " + std::to_string(record.height) + "x" + std::to_string(record.width) + "x" +
                      std::to_string(record.channels) + " do not fit " + std::to_string(record.bytes.size()) +
                      " stored bytes");
  return {reinterpret_cast<const std::uint8_t*>(record.bytes.data()), static_cast<int>(record.height),
          static_cast<int>(record.width), static_cast<int>(record.channels),
          std::size_t{record.width} * record.channels};
}

}  // namespace

void Image::reshape(std::uint64_t new_height, std::uint64_t new_width, int new_channels) {
  if (new_height == 0 || new_width == 0 || std::max(new_height, new_width) > max_side ||
      new_height * new_width > max_pixels)
    throw SampleError("a picture of " + std::to_string(new_width) + "x" + std::to_string(new_height) +
                      " pixels (taken: 1 to 65535 a side, 2^28 in all)");
  height = static_cast<int>(new_height);
  width = static_cast<int>(new_width);
  channels = new_channels;
  pixels.resize(new_height * new_width * static_cast<std::size_t>(new_channels));
}

Picture Image::view() const {
  return {pixels.data(), height, width, channels, static_cast<std::size_t>(width) * static_cast<std::size_t>(channels)};
}

void refuse_bomb(const std::string& format, std::uint64_t width, std::uint64_t height, std::uint64_t file_bytes) {
  // Flat pictures are packed a thousandfold; up to 2^24 pixels (48 MiB) that harms nobody.
  constexpr std::uint64_t harmless_pixels = std::uint64_t{1} << 24, max_pixels_per_byte = 128;
  const auto pixels = width * height;  // each fits 32 bits
  if (pixels > harmless_pixels && pixels / max_pixels_per_byte > file_bytes)
    throw SampleError(format + ": " + std::to_string(file_bytes) + " bytes cannot hold " + std::to_string(width) + "x" +
                      std::to_string(height) + " pixels");
}

void decode_image(std::span<const std::byte> file, Image& out, Warnings warnings) {
  if (file.empty()) throw SampleError("the image file is empty");
  if (starts_with(file, "\xff\xd8\xff", 3)) return decode_jpeg(file, out, warnings);
  if (starts_with(file, "\x89PNG\r\n\x1a\n", 8)) return decode_png(file, out);
  throw SampleError("neither a JPEG nor a PNG file");
}

Picture picture_of(const Record& record, Image& scratch, Warnings warnings) {
  switch (record.encoding) {
    case Encoding::pixels:
      return stored_pixels(record);
    case Encoding::image:
      decode_image(record.bytes, scratch, warnings);
      return scratch.view();
    case Encoding::shapes:
      draw_shapes(record.bytes, scratch);
      return scratch.view();
    case Encoding::bytes:
      break;
  }
  throw SampleError("the record holds no picture");
}

Picture colour_picture_of(const Record& record, Image& scratch, Image& coloured, Warnings warnings) {
  const Picture picture = picture_of(record, scratch, warnings);
  if (picture.channels == 3) return picture;
  if (picture.channels != 1)
    throw SampleError("a picture of " + std::to_string(picture.channels) + " channels; 1 or 3 are taken");
  coloured.reshape(static_cast<std::uint64_t>(picture.height), static_cast<std::uint64_t>(picture.width), 3);
  convert_channels(picture.pixels, 1, picture.height * picture.width, 3, coloured.pixels.data());
  return coloured.view();
}

Picture crop_to_region(const Picture& picture, const Box& region) {
  if (region.x1 <= region.x0 || region.y1 <= region.y0) return picture;
  // Clamped as floats first: a box from a damaged file may hold values that no int can.
  const auto inside = [](float value, int end) { return std::clamp(value, 0.0f, static_cast<float>(end)); };
  const int x0 = static_cast<int>(std::floor(inside(region.x0, picture.width)));
  const int y0 = static_cast<int>(std::floor(inside(region.y0, picture.height)));
  const int x1 = static_cast<int>(std::ceil(inside(region.x1, picture.width)));
  const int y1 = static_cast<int>(std::ceil(inside(region.y1, picture.height)));
  if (x1 <= x0 || y1 <= y0)
    throw SampleError("its box lies outside the picture of " + std::to_string(picture.width) + "x" +
                      std::to_string(picture.height));
  return {picture.row(y0) + x0 * picture.channels, y1 - y0, x1 - x0, picture.channels, picture.stride_bytes};
}

}  // namespace flowtrain
