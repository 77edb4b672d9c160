#pragma once
// WebP files to pixels, with libwebp.

#include "sampling/codecs/picture_reader.h"

namespace flowtrain {

/// Reads the header; see open_picture(). Pixels become RGB, transparent ones laid over black. Throws SampleError, for
/// animations, too.
PictureReader& open_webp(std::span<const std::byte> file, Exif exif = Exif::ignore);

}  // namespace flowtrain
