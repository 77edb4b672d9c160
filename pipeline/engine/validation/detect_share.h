#pragma once
// Divides pictures among the processes that validate together.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "pipeline/engine/validation/detection.h"

namespace flowtrain {

/// Detects objects in this process's share of `records`, and calls `metrics.on_image` (may be null) with each result.
/// Returns nothing if `goes_on`, which all processes of the group ask equally often, became false meanwhile.
std::optional<std::vector<ImageResult>> detect_in_share(const DetectionMetrics& metrics,
                                                        const std::set<std::uint64_t>& records, Detector& detector,
                                                        Group& group, const std::function<bool()>& goes_on);

}  // namespace flowtrain
