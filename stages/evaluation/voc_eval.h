#pragma once
// The evaluation of the PASCAL VOC challenge (M. Everingham et al., IJCV 2010): average precision at one overlap.

#include <span>
#include <vector>

#include "stages/evaluation/ground_truth.h"

namespace flowtrain {

/// The rule that turns the curve of precision over recall into a number.
enum class VocRule {
  eleven_points,  ///< VOC 2007: the mean of the best precisions at recalls of at least 0, 0.1 … 1
  all_points,     ///< VOC 2010 and later: the area under the curve, made to fall only
};

struct VocEvaluation {
  double mean_ap = -1;                     ///< mean over the classes that have objects; -1: none has
  std::vector<double> average_precisions;  ///< one for each category, in their order; -1: no object
};

/// Evaluates detections by VOC's rules. A detection is right if it overlaps the object of its class and picture that it
/// overlaps most by at least `least_overlap`, and that object was not found before; detections of ignored objects do
/// not count. Order is by descending score; ties go to the lower image id, then to the order given. Throws like
/// by_class().
VocEvaluation voc_evaluate(const GroundTruth& truth, std::span<const FoundObject> detections,
                           VocRule rule = VocRule::all_points, double least_overlap = 0.5);

}  // namespace flowtrain
