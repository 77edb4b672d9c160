#pragma once
// The evaluation of the PASCAL VOC challenge (M. Everingham et al., IJCV 2010): average precision at one overlap.

#include <span>
#include <vector>

#include "stages/evaluation/ground_truth.h"

namespace flowtrain {

/// How the curve of precision over recall becomes a number.
enum class VocRule {
  eleven_points,  ///< VOC 2007: the mean of the best precisions at recalls of at least 0, 0.1 … 1
  all_points,     ///< from VOC 2010 on: the area under the curve, made to fall only
};

struct VocEvaluation {
  double mean_ap = -1;                     ///< over the classes that have objects; -1: none has
  std::vector<double> average_precisions;  ///< in the order of the categories; -1: no object
};

/// A detection is right if it overlaps the object of its class and picture that it overlaps most by at least
/// `least_overlap`, and that one was not found before; detections of what is to be ignored do not count. Taken by
/// descending score; of ties the lower image id comes first, then the order given. Throws as by_class() does.
VocEvaluation voc_evaluate(const GroundTruth& truth, std::span<const FoundObject> detections,
                           VocRule rule = VocRule::all_points, double least_overlap = 0.5);

}  // namespace flowtrain
