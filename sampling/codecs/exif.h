#pragma once
// How a camera was held, as Exif notes it.

#include <cstddef>
#include <span>
#include <string_view>

#include "sampling/codecs/image.h"

namespace flowtrain {

/// The bytes as one number: the first is the lowest of a little-endian number, otherwise the highest. At most four.
std::uint32_t number_in(std::span<const std::byte> bytes, bool little_endian);

/// The orientation of a picture, 1 (not turned) … 8, by its Exif block or, where that has none, by its XMP packet.
/// The result is that of Pillow's exif_transpose(). The block begins with "Exif", as in a JPEG's APP1, or with the TIFF
/// header that follows it there, as in a PNG or a WebP file; a damaged one is silent. Either may be empty.
int orientation_of(std::span<const std::byte> exif, std::span<const std::byte> xmp);
/// Returns whether the bytes begin with this text.
bool starts_with(std::span<const std::byte> bytes, std::string_view text);

/// Whether rows become columns.
inline bool is_turned(int orientation) { return orientation > 4; }
/// The part of a stored (height, width) picture that is `part` of the picture as it is to be seen.
Rect as_stored(const Rect& part, int orientation, int height, int width);
/// The other way round.
Rect as_seen(const Rect& part, int orientation, int height, int width);
/// A stored picture as it is to be seen.
void orient(const Picture& stored, int orientation, Image& seen);

}  // namespace flowtrain
