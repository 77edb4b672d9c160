#pragma once
// results.json: detections as MS COCO's tools and its evaluation server take them.

#include <span>
#include <string>

#include "stages/evaluation/ground_truth.h"

namespace flowtrain {

/// A list of {"image_id", "category_id", "bbox": [x, y, width, height], "score"}, one a line; each number in the fewest
/// digits that give it back. Ids that the annotation file has as texts are texts here, too.
std::string results_text(std::span<const FoundObject> detections, const CocoTextIds& text_ids = {});

}  // namespace flowtrain
