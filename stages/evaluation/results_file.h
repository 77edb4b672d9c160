#pragma once
// results.json holds detections in the format of MS COCO's tools and its evaluation server.

#include <span>
#include <string>

#include "stages/evaluation/ground_truth.h"

namespace flowtrain {

/// Formats a list of {"image_id", "category_id", "bbox": [x, y, width, height], "score"}, one a line; each number has
/// the fewest digits that give it back. Ids that are texts in the annotation file are texts here, too.
std::string results_text(std::span<const FoundObject> detections, const CocoTextIds& text_ids = {});

}  // namespace flowtrain
