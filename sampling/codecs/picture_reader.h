#pragma once
// Decodes image files in two steps: first the header, then the required pixels.

#include <span>

#include "sampling/codecs/image.h"

namespace flowtrain {

/// A file whose size in pixels is known and whose pixels are not decoded yet. The file's bytes must stay in place.
/// Damage after the last byte read goes unnoticed.
class PictureReader {
 public:
  virtual ~PictureReader() = default;

  /// Returns the stored height, in pixels.
  virtual int height() const = 0;
  virtual int width() const = 0;
  /// Returns the largest divisor for read(), which takes 1, 2, 4, … up to this one.
  virtual int largest_divisor() const { return 1; }
  /// Returns how the stored image is to be turned, 1 (not at all) … 8: tag 274 of Exif (CIPA DC-008); 1 if the file was
  /// opened to ignore it.
  virtual int orientation() const { return 1; }
  /// Decodes the pixels in `part` of the image at 1/`divisor` of its size, rounded up, in RGB: each is exactly the one
  /// of the whole decoded image. They lie in `out`, perhaps with some existing ones around them. It works once. Throws
  /// SampleError.
  virtual Picture read(const Window& part, int divisor, Image& out) = 0;
};

/// Opens a JPEG, PNG or WebP file, recognised by its first bytes, and reads its header. The reader belongs to this
/// thread and is valid until the thread opens the next image. Throws SampleError.
PictureReader& open_picture(std::span<const std::byte> file, Warnings warnings, Exif exif = Exif::ignore);

/// Opens a JPEG file with libjpeg-turbo. Pixels become RGB: grey is repeated, CMYK and YCCK (Adobe's inverted form too)
/// are converted without a colour profile. Smaller sizes are a half, a quarter and an eighth, for which the transform
/// has fast forms. Errors are libjpeg's text as SampleError; libjpeg's warnings (truncated or corrupt data) are errors
/// as well, unless `warnings` says otherwise.
PictureReader& open_jpeg(std::span<const std::byte> file, Warnings warnings, Exif exif = Exif::ignore);
/// Opens a PNG file with libpng. Palettes and grey are expanded, 16 bits cut to 8, transparent pixels laid over black,
/// interlaced files put together. Throws SampleError with libpng's text.
PictureReader& open_png(std::span<const std::byte> file, Exif exif = Exif::ignore);
/// Opens a WebP file with libwebp. Transparent pixels are laid over black. Throws SampleError, for animations, too.
PictureReader& open_webp(std::span<const std::byte> file, Exif exif = Exif::ignore);

}  // namespace flowtrain
