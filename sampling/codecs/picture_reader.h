#pragma once
// Picture files that are decoded in two steps: first the header, then the pixels that are wanted.

#include <span>

#include "sampling/codecs/image.h"

namespace flowtrain {

/// A file whose size in pixels is known and whose pixels are not decoded yet. The file's bytes must stay where they
/// are. Damage behind the last byte that is read goes unnoticed.
class PictureReader {
 public:
  virtual ~PictureReader() = default;

  /// As stored, in pixels.
  virtual int height() const = 0;
  virtual int width() const = 0;
  /// read() takes the divisors 1, 2, 4, … up to this one.
  virtual int largest_divisor() const { return 1; }
  /// How the stored picture is to be turned for the eye, 1 (not at all) … 8: tag 274 of Exif (CIPA DC-008); 1 where it
  /// was opened to ignore that.
  virtual int orientation() const { return 1; }
  /// The pixels in `part` of the picture at 1/`divisor` of its size, rounded up, in RGB: each is exactly the one of the
  /// whole picture decoded. They lie in `out`, perhaps with some more around them, if there is more. Once only. Throws
  /// SampleError.
  virtual Picture read(const Window& part, int divisor, Image& out) = 0;
};

/// For a JPEG, PNG or WebP file, told apart by its first bytes; reads the header. The reader is this thread's own, and
/// valid until the thread opens the next picture. Throws SampleError.
PictureReader& open_picture(std::span<const std::byte> file, Warnings warnings, Exif exif = Exif::ignore);

/// open_picture() for a JPEG file, with libjpeg-turbo. Pixels become RGB: grey is repeated, CMYK and YCCK (Adobe's
/// inverted form too) are converted without a colour profile. Sizes below the whole are a half, a quarter and an
/// eighth, for which the transform has fast forms. Errors are libjpeg's text as SampleError; what libjpeg only warns of
/// (truncated or corrupt data) is an error as well, unless `warnings` says otherwise.
PictureReader& open_jpeg(std::span<const std::byte> file, Warnings warnings, Exif exif = Exif::ignore);
/// For a PNG file, with libpng. Palettes and grey are expanded, 16 bits cut to 8, transparent pixels laid over black,
/// interlaced files put together. Throws SampleError with libpng's text.
PictureReader& open_png(std::span<const std::byte> file, Exif exif = Exif::ignore);
/// For a WebP file, with libwebp. Transparent pixels are laid over black. Throws SampleError, for animations, too.
PictureReader& open_webp(std::span<const std::byte> file, Exif exif = Exif::ignore);

}  // namespace flowtrain
