#pragma once
// How a camera was held, as Exif notes it.

#include <cstddef>
#include <span>

#include "sampling/codecs/image.h"

namespace flowtrain {

/// The bytes as one number: the first is the lowest of a little-endian number, otherwise the highest. At most four.
std::uint32_t number_in(std::span<const std::byte> bytes, bool little_endian);

/// The orientation 1 … 8 that an Exif block gives; 1 where it gives none or is damaged. The block begins with "Exif",
/// as in a JPEG's APP1, or with the TIFF header that follows it there, as in a PNG or a WebP file.
int exif_orientation(std::span<const std::byte> block);

/// Whether rows become columns.
inline bool is_turned(int orientation) { return orientation > 4; }
/// The part of a stored (height, width) picture that is `part` of the picture as it is to be seen.
Rect as_stored(const Rect& part, int orientation, int height, int width);
/// The other way round.
Rect as_seen(const Rect& part, int orientation, int height, int width);
/// A stored picture as it is to be seen.
void orient(const Picture& stored, int orientation, Image& seen);

}  // namespace flowtrain
