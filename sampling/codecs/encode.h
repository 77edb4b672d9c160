#pragma once
// Encodes pixels as image files.

#include <cstddef>
#include <string>
#include <vector>

#include "sampling/codecs/image.h"

namespace flowtrain {

/// Returns the extension of such a file: "jpg", "png", "webp".
const char* ending_of(FileFormat format);

/// Encodes an image with 1 (grey) or 3 (RGB) channels; WebP has no grey, so its files are all RGB. `quality`, 1 … 100,
/// is that of JPEG (colour at half the resolution) and WebP (lossy); PNG is lossless. Throws SampleError for an image
/// that is too large: JPEG allows sides of 65500, WebP of 16383 pixels.
std::vector<std::byte> encode_picture(const Picture& picture, FileFormat format, int quality);

/// Encodes an image as PNG.
std::vector<std::byte> encode_png(const Picture& picture);
/// Writes a PNG file to `path`. Throws UserError(snapshot) if the file cannot be written.
void write_png(const std::string& path, const Picture& picture);

}  // namespace flowtrain
