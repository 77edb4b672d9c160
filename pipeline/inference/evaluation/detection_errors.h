#pragma once
// The errors of a detector in a single picture.

#include <cstdint>
#include <map>
#include <vector>

#include "stages/evaluation/ground_truth.h"

namespace flowtrain {

/// The least score of a detection that counts as found; pictures show the same ones.
inline constexpr double least_found_score = 0.3;

/// The true and the found objects of one picture.
struct PictureObjects {
  std::vector<const TrueObject*> truth;
  std::vector<const FoundObject*> found;
};

/// Groups the objects by image id. The result points into the arguments.
std::map<std::int64_t, PictureObjects> by_picture(const GroundTruth& truth, const std::vector<FoundObject>& found);

struct DetectionErrors {
  std::uint64_t false_negatives = 0;  ///< objects that no find overlaps by half
  std::uint64_t false_positives =
      0;  ///< finds that overlap no object of their class by half, or one that was found before
};

/// Counts as PASCAL VOC does: detections by descending score, each matched to the object of its class that it overlaps
/// most, if by at least 0.5. Objects to be ignored need not be found, and detections of them are no errors.
DetectionErrors errors_in(const PictureObjects& picture);

}  // namespace flowtrain
