#pragma once
// From pixels to the bytes of a picture file.

#include <cstddef>
#include <string>
#include <vector>

#include "sampling/codecs/image.h"

namespace flowtrain {

/// How the name of such a file ends: "jpg", "png", "webp".
const char* ending_of(FileFormat format);

/// A file of a picture with 1 (grey) or 3 (RGB) channels; WebP has no grey, so its files are all RGB. `quality`,
/// 1 … 100, is that of JPEG (colour at half the resolution) and WebP (lossy); PNG loses nothing. Throws SampleError for
/// a picture larger than the format takes: JPEG 65500 a side, WebP 16383.
std::vector<std::byte> encode_picture(const Picture& picture, FileFormat format, int quality);

/// The same for PNG alone.
std::vector<std::byte> encode_png(const Picture& picture);
/// Writes a PNG file to `path`. Throws UserError(snapshot) if the file cannot be written.
void write_png(const std::string& path, const Picture& picture);

}  // namespace flowtrain
