#pragma once
// JPEG files to pixels, with libjpeg-turbo.

#include "sampling/codecs/image.h"

namespace flowtrain {

/// Decodes to RGB: grey is repeated, CMYK and YCCK (Adobe's inverted form too) are converted without a colour profile.
/// Throws SampleError with libjpeg's text; what libjpeg only warns of (truncated or corrupt data) is an error as well,
/// unless `warnings` says otherwise.
void decode_jpeg(std::span<const std::byte> file, Image& out, Warnings warnings = Warnings::bad);

}  // namespace flowtrain
