#pragma once
// Pictures of single records, as they are stored.

#include <cstdint>

#include "sampling/codecs/image.h"
#include "sampling/dataset.h"

namespace flowtrain {

/// The record's picture, its region alone where it has one; no pixels where it is none, or cannot be read.
Image stored_picture(const Dataset& dataset, const Decoding& decoding, std::uint64_t id);

}  // namespace flowtrain
