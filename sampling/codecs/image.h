#pragma once
// Images in memory, and the decoding of image files.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace flowtrain {

/// A view of u8 pixels (height, width, channels); there may be gaps between rows, as in a crop.
struct Picture {
  const std::uint8_t* pixels = nullptr;
  int height = 0, width = 0, channels = 0;
  std::size_t stride_bytes = 0;  ///< distance from one row to the next

  const std::uint8_t* row(int y) const { return pixels + static_cast<std::size_t>(y) * stride_bytes; }
};

/// A rectangle of an image in pixels; may have fractions.
struct Rect {
  double x, y, width, height;
};

/// A rectangle of whole pixels.
struct Window {
  int x, y, height, width;

  Rect rect() const { return {1. * x, 1. * y, 1. * width, 1. * height}; }
};

/// An image that owns its pixels: (height, width, channels), rows without gaps. Decoding into the same object again
/// reuses its memory.
struct Image {
  int height = 0, width = 0, channels = 0;
  std::vector<std::uint8_t> pixels;

  /// Sets the shape and makes room. Throws SampleError for an image without pixels, with a side above 65535, or with
  /// more than 2^28 pixels.
  void reshape(int new_height, int new_width, int new_channels);
  Picture view() const;
  std::uint8_t* row(int y) { return pixels.data() + static_cast<std::size_t>(y) * view().stride_bytes; }
};

/// The most pixels of a picture, height times width.
inline constexpr std::uint64_t max_pixels = std::uint64_t{1} << 28;

/// Throws SampleError for a size that reshape() refuses.
void check_size(std::uint64_t height, std::uint64_t width);

/// The treatment of a file that its decoder only warns of: a JPEG whose data is garbled or ends early, so that a part
/// of the image is grey or shifted. (libpng's warnings do not concern pixels; damage there is always an error.)
enum class Warnings : std::uint8_t {
  bad,     ///< such a file is damaged: SampleError
  accept,  ///< the image is used as decoded
};

/// Refuses an image that was made to fill memory: if reading takes more than 48 MiB (`bytes_per_pixel` counts the image
/// and the decoder's memory), a compressed file must have a byte for each 128 pixels. Throws SampleError "FORMAT: …".
void refuse_bomb(const std::string& format, std::uint64_t width, std::uint64_t height, std::uint64_t file_bytes,
                 std::uint64_t bytes_per_pixel = 3);

/// Says whether an image is turned according to its Exif block.
enum class Exif : std::uint8_t { ignore, apply };

/// The keys `warnings`, `exif` and `fast_decode` of samplers, which say how picture files are decoded.
struct Decoding {
  Warnings warnings = Warnings::bad;
  Exif exif = Exif::ignore;
  bool fast = true;  ///< a JPEG that is to shrink is decoded at a half, a quarter or an eighth of its size
};

/// The supported image file formats.
enum class FileFormat : std::uint8_t { jpeg, png, webp };

/// Recognises a file's format by its first bytes; nothing for other files.
std::optional<FileFormat> format_of(std::span<const std::byte> file);

/// Decodes a JPEG, PNG or WebP file, recognised by its first bytes, to RGB. Throws SampleError.
void decode_image(std::span<const std::byte> file, Image& out, Warnings warnings = Warnings::bad);

/// Throws SampleError for other numbers of channels than 1 and 3.
void check_channels(int channels);

/// Returns the image in three channels: itself, or grey repeated in `coloured`. Throws like check_channels().
Picture in_colour(const Picture& picture, Image& coloured);

/// Returns the part of `in` inside `window`, which must lie inside.
Picture crop(const Picture& in, const Window& window);

}  // namespace flowtrain
