#pragma once
// Reads pictures of single records, as they are stored.

#include <cstdint>

#include "sampling/codecs/image.h"
#include "sampling/dataset.h"

namespace flowtrain {

/// Returns the record's picture, cut to its region if it has one; no pixels if it has no picture or cannot be read.
Image stored_picture(const Dataset& dataset, const Decoding& decoding, std::uint64_t id);

}  // namespace flowtrain
