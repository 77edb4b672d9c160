#pragma once
// Pictures and image files for tests.

#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE
#include <cstdlib>

#include <jpeglib.h>
#include <webp/encode.h>

#include <algorithm>
#include <vector>

#include "sampling/codecs/image.h"

namespace flowtrain {

/// A smooth picture, so that JPEG changes it little.
inline Image gradient_picture(int height, int width, int channels) {
  Image image;
  image.reshape(height, width, channels);
  std::size_t i = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c)
        image.pixels[i++] = static_cast<std::uint8_t>(c == 0 ? 255 * x / width : c == 1 ? 255 * y / height : 128);
  return image;
}

/// A picture without two equal neighbours.
inline Image noise_picture(int height, int width, int channels) {
  Image image;
  image.reshape(height, width, channels);
  std::uint32_t state = 1;
  for (auto& value : image.pixels) value = static_cast<std::uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
  return image;
}

/// The form of a JPEG file.
struct JpegForm {
  int across = 2, down = 2;  ///< pixels that share a colour
  int restart_rows = 0;      ///< rows of blocks between restart markers; 0: none
  int orientation = 0;       ///< in an Exif block; 0: no block
  int quality = 95;
};

/// A JPEG file; 1 channel: grey, 3: RGB, 4: CMYK as Adobe's programs write it (255 = no ink).
inline std::vector<std::byte> encode_jpeg(const Image& image, bool progressive = false, const JpegForm& form = {}) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* data = nullptr;
  unsigned long size_bytes = 0;
  jpeg_mem_dest(&info, &data, &size_bytes);
  info.image_height = static_cast<JDIMENSION>(image.height);
  info.image_width = static_cast<JDIMENSION>(image.width);
  info.input_components = image.channels;
  info.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : image.channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, form.quality, TRUE);
  if (progressive) jpeg_simple_progression(&info);
  if (image.channels == 3) info.comp_info[0].h_samp_factor = form.across, info.comp_info[0].v_samp_factor = form.down;
  info.restart_in_rows = form.restart_rows;
  jpeg_start_compress(&info, TRUE);
  if (form.orientation > 0) {
    const std::uint8_t exif[] = {
        'E', 'x', 'i', 'f', 0,    0, 'M', 'M', 0, 42, 0, 0, 0,
        8,   0,   1,   1,   0x12, 0, 3,   0,   0, 0,  1, 0, static_cast<std::uint8_t>(form.orientation),
        0,   0,   0,   0,   0,    0};
    jpeg_write_marker(&info, JPEG_APP0 + 1, exif, sizeof exif);
  }
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPROW>(image.view().row(static_cast<int>(info.next_scanline)));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> file(bytes, bytes + size_bytes);
  std::free(data);
  return file;
}

/// A WebP file of 3 (RGB) or 4 channels (with alpha).
inline std::vector<std::byte> encode_webp(const Image& image, bool lossless) {
  std::uint8_t* data = nullptr;
  const auto* pixels = image.pixels.data();
  const int stride = image.width * image.channels;
  const std::size_t size_bytes =
      image.channels == 4 ? lossless ? WebPEncodeLosslessRGBA(pixels, image.width, image.height, stride, &data)
                                     : WebPEncodeRGBA(pixels, image.width, image.height, stride, 90, &data)
      : lossless ? WebPEncodeLosslessRGB(pixels, image.width, image.height, stride, &data)
                          : WebPEncodeRGB(pixels, image.width, image.height, stride, 90, &data);
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> file(bytes, bytes + size_bytes);
  WebPFree(data);
  return file;
}

/// An Exif block that says how the camera was held, from its TIFF header on.
inline std::vector<std::byte> exif_block(int orientation, bool little_endian = false) {
  const auto value = static_cast<std::uint8_t>(orientation);
  const std::uint8_t big[] = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, value, 0, 0, 0, 0, 0, 0};
  const std::uint8_t little[] = {'I', 'I', 42, 0, 8, 0,     0, 0, 1, 0, 0x12, 1, 3,
                                 0,   1,   0,  0, 0, value, 0, 0, 0, 0, 0,    0, 0};
  static_assert(sizeof big == sizeof little);
  const auto* bytes = reinterpret_cast<const std::byte*>(little_endian ? little : big);
  return {bytes, bytes + sizeof big};
}

inline void append_number(std::vector<std::byte>& bytes, std::uint32_t value, bool little_endian, int size = 4) {
  for (int i = 0; i < size; ++i) {
    const int shift = 8 * (little_endian ? i : size - 1 - i);
    bytes.push_back(static_cast<std::byte>(value >> shift));
  }
}

/// A chunk of a PNG file.
inline std::vector<std::byte> png_chunk(const char* type, const std::vector<std::byte>& data) {
  std::vector<std::byte> chunk;
  append_number(chunk, static_cast<std::uint32_t>(data.size()), false);
  for (int i = 0; i < 4; ++i) chunk.push_back(static_cast<std::byte>(type[i]));
  chunk.insert(chunk.end(), data.begin(), data.end());
  std::uint32_t crc = ~0u;
  for (std::size_t i = 4; i < chunk.size(); ++i) {
    crc ^= std::to_integer<std::uint32_t>(chunk[i]);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
  }
  append_number(chunk, ~crc, false);
  return chunk;
}

/// The PNG file with a chunk more, before its pixels or after them.
inline std::vector<std::byte> with_chunk(std::vector<std::byte> png, const std::vector<std::byte>& chunk,
                                         bool after_pixels = false) {
  constexpr std::ptrdiff_t header_end = 33, end_mark_bytes = 12;
  png.insert(after_pixels ? png.end() - end_mark_bytes : png.begin() + header_end, chunk.begin(), chunk.end());
  return png;
}

/// The WebP file of a single chunk as an extended one, with an EXIF chunk.
inline std::vector<std::byte> with_exif(const std::vector<std::byte>& webp, const Image& image,
                                        const std::vector<std::byte>& exif) {
  std::vector<std::byte> file;
  const auto text = [&](const char* four) {
    for (int i = 0; i < 4; ++i) file.push_back(static_cast<std::byte>(four[i]));
  };
  text("RIFF");
  append_number(file, 0, true);  // the length, set below
  text("WEBP");
  text("VP8X");
  append_number(file, 10, true);
  append_number(file, image.channels == 4 ? 0x18 : 0x08, true);
  append_number(file, static_cast<std::uint32_t>(image.width - 1), true, 3);
  append_number(file, static_cast<std::uint32_t>(image.height - 1), true, 3);
  file.insert(file.end(), webp.begin() + 12, webp.end());
  text("EXIF");
  append_number(file, static_cast<std::uint32_t>(exif.size()), true);
  file.insert(file.end(), exif.begin(), exif.end());
  if (exif.size() % 2) file.push_back(std::byte{0});
  std::vector<std::byte> length;
  append_number(length, static_cast<std::uint32_t>(file.size() - 8), true);
  std::copy(length.begin(), length.end(), file.begin() + 4);
  return file;
}

/// The mean of |a - b| over all bytes.
inline double mean_difference(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(int{a[i]} - int{b[i]});
  return a.size() == b.size() ? sum / static_cast<double>(a.size()) : 256;
}

}  // namespace flowtrain
