#pragma once
// The evaluation of MS COCO for boxes (T.-Y. Lin et al., ECCV 2014): average precision and recall over overlaps of 0.5
// to 0.95. It equals pycocotools' COCOeval, ties and crowds included.

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "stages/evaluation/ground_truth.h"

namespace flowtrain {

/// COCO's twelve numbers, 0 … 1; -1 if there is no object to find. `small` is below 32² pixels, `large` above 96².
struct CocoScores {
  double ap = -1;    ///< average precision: the mean over overlaps of 0.5, 0.55 … 0.95
  double ap50 = -1;  ///< average precision at an overlap of 0.5
  double ap75 = -1;
  double ap_small = -1, ap_medium = -1, ap_large = -1;
  double ar1 = -1;  ///< average recall of the best detection of each picture
  double ar10 = -1, ar100 = -1;
  double ar_small = -1, ar_medium = -1, ar_large = -1;  ///< recalls of the best 100 detections
};

/// The twelve by their usual names, in the order that pycocotools prints them.
inline constexpr std::array<std::pair<const char*, double CocoScores::*>, 12> coco_score_names{
    {{"AP", &CocoScores::ap},
     {"AP50", &CocoScores::ap50},
     {"AP75", &CocoScores::ap75},
     {"APs", &CocoScores::ap_small},
     {"APm", &CocoScores::ap_medium},
     {"APl", &CocoScores::ap_large},
     {"AR1", &CocoScores::ar1},
     {"AR10", &CocoScores::ar10},
     {"AR100", &CocoScores::ar100},
     {"ARs", &CocoScores::ar_small},
     {"ARm", &CocoScores::ar_medium},
     {"ARl", &CocoScores::ar_large}}};

struct CocoEvaluation {
  CocoScores all;                   ///< means over the classes that have objects
  std::vector<CocoScores> classes;  ///< one for each category, in their order
};

/// Evaluates on `threads` threads; the result does not depend on their number. It takes detections of a picture by
/// descending score, ties in the order given, at most 100 of each class; ties between pictures go to the lower image
/// id. Throws like by_class().
CocoEvaluation coco_evaluate(const GroundTruth& truth, std::span<const FoundObject> detections, unsigned threads = 1);

}  // namespace flowtrain
