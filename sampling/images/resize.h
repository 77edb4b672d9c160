#pragma once
// Resizing of u8 pictures (height, width, channels).

#include <cstdint>

#include "sampling/images/crop.h"

namespace flowtrain {

/// Resizes the part `from` of `in` (1 or 3 channels) to (height, width) with an antialiased triangle filter and writes
/// it to `out` (height · width · channels bytes): Pillow's `resize(size, BILINEAR, box)` to within one level. The
/// filter sees pixels outside `from` but none outside `in`; `from` must lie inside `in`. Scratch is thread_local.
void resize(const Picture& in, const Rect& from, int height, int width, std::uint8_t* out);

}  // namespace flowtrain
