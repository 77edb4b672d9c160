#pragma once
// PNG files to pixels and back, with libpng.

#include <string>

#include "sampling/codecs/picture_reader.h"

namespace flowtrain {

/// Reads the header; see open_picture(). Pixels become RGB: palettes and grey are expanded, 16 bits cut to 8,
/// transparent pixels laid over black, interlaced files put together. Throws SampleError with libpng's text.
PictureReader& open_png(std::span<const std::byte> file, Exif exif = Exif::ignore);

/// A PNG file of a picture with 1 (grey) or 3 (RGB) channels.
std::vector<std::byte> encode_png(const Picture& picture);
/// Writes it to `path`. Throws UserError(snapshot) if the file cannot be written.
void write_png(const std::string& path, const Picture& picture);

}  // namespace flowtrain
