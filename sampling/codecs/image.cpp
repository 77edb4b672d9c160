#include "sampling/codecs/image.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "sampling/codecs/color.h"
#include "sampling/codecs/exif.h"
#include "sampling/codecs/picture_reader.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

constexpr std::uint64_t max_side = 65535;  // the limit of JPEG

/// Returns the name of an unsupported image format by the file's first bytes; empty for other files.
std::string_view unread_format(std::span<const std::byte> file) {
  using namespace std::string_view_literals;
  for (const auto& [start, name] : {std::pair{"II*\0"sv, "TIFF"sv},
                                    {"MM\0*"sv, "TIFF"sv},
                                    {"GIF8"sv, "GIF"sv},
                                    {"BM"sv, "BMP"sv},
                                    {"\0\0\1\0"sv, "ICO"sv},
                                    {"\0\0\0\xcjP  "sv, "JPEG 2000"sv}})
    if (starts_with(file, start)) return name;
  constexpr std::size_t box_length_bytes = 4;
  return file.size() > box_length_bytes && starts_with(file.subspan(box_length_bytes), "ftyp") ? "HEIF or AVIF" : "";
}

}  // namespace

void check_size(std::uint64_t height, std::uint64_t width) {
  if (height == 0 || width == 0 || std::max(height, width) > max_side || height * width > max_pixels)
    throw SampleError(concat("an image of ", width, "x", height, " pixels (limit: 1 to 65535 a side, 2^28 in all)"));
}

void Image::reshape(int new_height, int new_width, int new_channels) {
  check_size(static_cast<std::uint64_t>(new_height), static_cast<std::uint64_t>(new_width));
  height = new_height;
  width = new_width;
  channels = new_channels;
  pixels.resize(static_cast<std::size_t>(height) * view().stride_bytes);
}

Picture Image::view() const {
  return {pixels.data(), height, width, channels, static_cast<std::size_t>(width) * static_cast<std::size_t>(channels)};
}

void refuse_bomb(const std::string& format, std::uint64_t width, std::uint64_t height, std::uint64_t file_bytes,
                 std::uint64_t bytes_per_pixel) {
  // Flat images are compressed a thousandfold, which is harmless up to this size.
  constexpr std::uint64_t harmless_bytes = std::uint64_t{48} << 20, max_pixels_per_byte = 128;
  const auto pixels = width * height;  // each fits 32 bits
  if (pixels > harmless_bytes / bytes_per_pixel && pixels / max_pixels_per_byte > file_bytes)
    throw SampleError(concat(format, ": ", file_bytes, " bytes cannot hold ", width, "x", height, " pixels"));
}

std::optional<FileFormat> format_of(std::span<const std::byte> file) {
  if (starts_with(file, "\xff\xd8\xff")) return FileFormat::jpeg;
  if (starts_with(file, "\x89PNG\r\n\x1a\n")) return FileFormat::png;
  if (starts_with(file, "RIFF") && file.size() > 12 && starts_with(file.subspan(8), "WEBP")) return FileFormat::webp;
  return {};
}

PictureReader& open_picture(std::span<const std::byte> file, Warnings warnings, Exif exif) {
  if (file.empty()) throw SampleError("the image file is empty");
  const auto format = format_of(file);
  if (format == FileFormat::jpeg) return open_jpeg(file, warnings, exif);
  if (format == FileFormat::png) return open_png(file, exif);
  if (format == FileFormat::webp) return open_webp(file, exif);
  const auto name = unread_format(file);
  throw SampleError(concat("this is not a JPEG, PNG or WebP file",
                           name.empty() ? "" : concat(", but a ", name, " file: convert it to PNG")));
}

void decode_image(std::span<const std::byte> file, Image& out, Warnings warnings) {
  PictureReader& reader = open_picture(file, warnings);
  reader.read({0, 0, reader.height(), reader.width()}, 1, out);
}

void check_channels(int channels) {
  if (channels != 1 && channels != 3)
    throw SampleError(concat("an image has ", channels, " channels, expected 1 or 3"));
}

Picture in_colour(const Picture& picture, Image& coloured) {
  check_channels(picture.channels);
  if (picture.channels == 3) return picture;
  coloured.reshape(picture.height, picture.width, 3);
  for (int y = 0; y < picture.height; ++y) convert_channels(picture.row(y), 1, picture.width, 3, coloured.row(y));
  return coloured.view();
}

Picture crop(const Picture& in, const Window& window) {
  return {in.row(window.y) + window.x * in.channels, window.height, window.width, in.channels, in.stride_bytes};
}

}  // namespace flowtrain
