#pragma once
// results.json: detections as MS COCO's tools and its evaluation server take them.

#include <filesystem>
#include <span>

#include "stages/evaluation/ground_truth.h"

namespace flowtrain {

/// Writes a list of {"image_id", "category_id", "bbox": [x, y, width, height], "score"}, one a line; each number in the
/// fewest digits that give it back. Throws UserError(snapshot) with the path and what the system says.
void write_results(const std::filesystem::path& path, std::span<const FoundObject> detections);

}  // namespace flowtrain
