#pragma once
// JPEG files to pixels, with libjpeg-turbo.

#include "sampling/codecs/picture_reader.h"

namespace flowtrain {

/// Reads the header; see open_picture(). Pixels become RGB: grey is repeated, CMYK and YCCK (Adobe's inverted form too)
/// are converted without a colour profile. Of sizes below the whole there are a half, a quarter and an eighth: what the
/// transform's fast forms give. Errors are libjpeg's text as SampleError; what libjpeg only warns of (truncated or
/// corrupt data) is an error as well, unless `warnings` says otherwise.
PictureReader& open_jpeg(std::span<const std::byte> file, Warnings warnings, Exif exif = Exif::ignore);

}  // namespace flowtrain
