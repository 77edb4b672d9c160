#pragma once
// The evaluation of MS COCO for boxes (T.-Y. Lin et al., ECCV 2014): average precision and recall over overlaps of 0.5
// to 0.95. Equal to pycocotools' COCOeval, ties and crowds included.

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "stages/evaluation/ground_truth.h"

namespace flowtrain {

/// COCO's twelve numbers, 0 … 1; -1 where there is no object to find. `small` is below 32² pixels, `large` above 96².
struct CocoScores {
  double ap = -1;    ///< average precision: the mean over overlaps of 0.5, 0.55 … 0.95
  double ap50 = -1;  ///< at an overlap of 0.5
  double ap75 = -1;
  double ap_small = -1, ap_medium = -1, ap_large = -1;
  double ar1 = -1;  ///< average recall: with the best detection of each picture
  double ar10 = -1, ar100 = -1;
  double ar_small = -1, ar_medium = -1, ar_large = -1;  ///< with the best 100
};

/// The twelve by the names they are usually given, in the order pycocotools prints them.
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
  std::vector<CocoScores> classes;  ///< in the order of the categories
};

/// Evaluates on `threads` threads; the result does not depend on their number. Detections of a picture are taken by
/// descending score, those that tie in the order given, at most 100 of each class; of ties between pictures the lower
/// image id comes first. Throws as by_class() does.
CocoEvaluation coco_evaluate(const GroundTruth& truth, std::span<const FoundObject> detections, unsigned threads = 1);

}  // namespace flowtrain
