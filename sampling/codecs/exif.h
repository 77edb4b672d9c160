#pragma once
// The orientation of the camera in Exif data.

#include <cstddef>
#include <span>
#include <string_view>

#include "sampling/codecs/image.h"

namespace flowtrain {

/// Returns up to four bytes as one number: the first is the lowest of a little-endian number, otherwise the highest.
std::uint32_t number_in(std::span<const std::byte> bytes, bool little_endian);

/// Returns the orientation of an image, 1 (not turned) … 8, from its Exif block or, if that has none, from its XMP
/// packet, like Pillow's exif_transpose(). The block begins with "Exif", as in a JPEG's APP1, or with the TIFF header
/// that follows it there, as in a PNG or a WebP file; a damaged one has no effect. Either may be empty.
int orientation_of(std::span<const std::byte> exif, std::span<const std::byte> xmp);
/// Returns whether the bytes begin with this text.
bool starts_with(std::span<const std::byte> bytes, std::string_view text);

/// Returns whether rows become columns.
inline bool is_turned(int orientation) { return orientation > 4; }
/// Converts a rectangle of the seen image to one of the stored (height, width) image.
Rect as_stored(const Rect& part, int orientation, int height, int width);
/// Converts a rectangle of the stored image to one of the seen image.
Rect as_seen(const Rect& part, int orientation, int height, int width);
/// Turns a stored image as it is to be seen.
void orient(const Picture& stored, int orientation, Image& seen);

}  // namespace flowtrain
