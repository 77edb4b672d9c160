#pragma once
// CornerNet-Saccade looks next at locations. H. Law et al., "CornerNet-Lite", BMVC 2020; numbers as in the reference
// implementation, princeton-vl/CornerNet-Lite.

#include <span>
#include <vector>

#include "stages/detection/soft_nms.h"

namespace flowtrain {

/// A location is a place of a picture, in its pixels, with the factor by which to enlarge it.
struct Location {
  double y, x;
  double scale;
  double score;  ///< from 0 to 1; the more is expected there, the higher
};

/// A location for each box that is believed in (score above 0.5): its centre, with score 1, at a scale that makes its
/// long side about 192 pixels where it is above 96, 64 where it is above 32, else 24.
std::vector<Location> reference_locations(std::span<const ScoredBox> boxes);

/// Best first; takes away those near a better one: within `distance` pixels (of the enlarged picture) in x or in y, and
/// of a scale 0.8 to 1.2 times as large. Sharing a row or a column is enough: the reference compares the smaller of
/// both distances, and its results rest on that. Of equal scores the later one comes first.
std::vector<Location> thin_out(std::span<const Location> locations, double distance);

}  // namespace flowtrain
