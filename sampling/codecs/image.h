#pragma once
// Pictures in memory, and what turns picture files into pixels.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace flowtrain {

/// A view of u8 pixels (height, width, channels); rows may lie apart, as those of a crop do.
struct Picture {
  const std::uint8_t* pixels = nullptr;
  int height = 0, width = 0, channels = 0;
  std::size_t stride_bytes = 0;  ///< from one row to the next

  const std::uint8_t* row(int y) const { return pixels + static_cast<std::size_t>(y) * stride_bytes; }
};

/// A rectangle of a picture in pixels; may have fractions.
struct Rect {
  double x, y, width, height;
};

/// A rectangle of whole pixels.
struct Window {
  int x, y, height, width;

  Rect rect() const { return {1. * x, 1. * y, 1. * width, 1. * height}; }
};

/// A picture that owns its pixels: (height, width, channels), rows without gaps. Keep it and decode into it again: its
/// memory is reused.
struct Image {
  int height = 0, width = 0, channels = 0;
  std::vector<std::uint8_t> pixels;

  /// Sets the shape and makes room. Throws SampleError for a picture of no pixels, of more than 65535 a side, or of
  /// more than 2^28 in all.
  void reshape(int new_height, int new_width, int new_channels);
  Picture view() const;
  std::uint8_t* row(int y) { return pixels.data() + static_cast<std::size_t>(y) * view().stride_bytes; }
};

/// The most pixels of a picture, height times width.
inline constexpr std::uint64_t max_pixels = std::uint64_t{1} << 28;

/// Throws SampleError for a size that reshape() refuses.
void check_size(std::uint64_t height, std::uint64_t width);

/// What to do with a file that its decoder only warns of: a JPEG whose data is garbled or ends early, so that a part of
/// the picture is grey or shifted. (libpng's warnings do not concern pixels; damage there is always an error.)
enum class Warnings : std::uint8_t {
  bad,     ///< it is damaged: SampleError
  accept,  ///< the picture is used as it comes
};

/// Refuses a picture that was made to fill memory: if reading takes more than 48 MiB (`bytes_per_pixel` counts the
/// picture and the decoder's memory), a compressed file must have a byte for each 128 pixels. Throws SampleError
/// "FORMAT: …".
void refuse_bomb(const std::string& format, std::uint64_t width, std::uint64_t height, std::uint64_t file_bytes,
                 std::uint64_t bytes_per_pixel = 3);

/// Whether a picture is turned as its Exif block says.
enum class Exif : std::uint8_t { ignore, apply };

/// The keys `warnings`, `exif` and `fast_decode` of samplers, which say how picture files are decoded.
struct Decoding {
  Warnings warnings = Warnings::bad;
  Exif exif = Exif::ignore;
  bool fast = true;  ///< a JPEG that is to shrink is decoded at a half, a quarter or an eighth of its size
};

/// The kinds of picture files that are known.
enum class FileFormat : std::uint8_t { jpeg, png, webp };

/// What a file is, told by its first bytes; nothing for other files.
std::optional<FileFormat> format_of(std::span<const std::byte> file);

/// Decodes a JPEG, PNG or WebP file, told apart by its first bytes, to RGB. Throws SampleError.
void decode_image(std::span<const std::byte> file, Image& out, Warnings warnings = Warnings::bad);

/// Throws SampleError for other numbers of channels than 1 and 3.
void check_channels(int channels);

/// The picture in three channels: itself, or grey repeated, in `coloured`. Throws SampleError as check_channels().
Picture in_colour(const Picture& picture, Image& coloured);

/// The part of `in` inside `window`, which must lie inside.
Picture crop(const Picture& in, const Window& window);

}  // namespace flowtrain
