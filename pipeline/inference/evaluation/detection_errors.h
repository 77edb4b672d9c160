#pragma once
// What a detector got wrong in a single picture.

#include <cstdint>
#include <map>
#include <vector>

#include "stages/evaluation/ground_truth.h"

namespace flowtrain {

/// Detections with a score of at least this count as finds: the ones that pictures show.
inline constexpr double least_found_score = 0.3;

/// What is there and what was found in one picture.
struct PictureObjects {
  std::vector<const TrueObject*> truth;
  std::vector<const FoundObject*> found;
};

/// By image id. Points into the arguments.
std::map<std::int64_t, PictureObjects> by_picture(const GroundTruth& truth, const std::vector<FoundObject>& found);

struct DetectionErrors {
  std::uint64_t missed = 0;  ///< objects that no find overlaps by half
  std::uint64_t wrong = 0;   ///< finds that overlap no object of their class by half, or one that was found before
};

/// As PASCAL VOC counts: finds by descending score, each for the object of its class that it overlaps most, if that is
/// by at least 0.5. What is to be ignored need not be found, nor is a find of it wrong.
DetectionErrors errors_in(const PictureObjects& picture);

}  // namespace flowtrain
