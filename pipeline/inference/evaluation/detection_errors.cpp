#include "pipeline/inference/evaluation/detection_errors.h"

#include <algorithm>
#include <set>

namespace flowtrain {

std::map<std::int64_t, PictureObjects> by_picture(const GroundTruth& truth, const std::vector<FoundObject>& found) {
  std::map<std::int64_t, PictureObjects> pictures;
  for (auto& object : truth.objects) pictures[object.image_id].truth.push_back(&object);
  for (auto& each : found) pictures[each.image_id].found.push_back(&each);
  return pictures;
}

DetectionErrors errors_in(const PictureObjects& picture) {
  constexpr double least_overlap = 0.5;
  std::vector<const FoundObject*> finds;
  for (const auto* found : picture.found)
    if (found->score >= least_found_score) finds.push_back(found);
  std::ranges::stable_sort(finds, [](auto* a, auto* b) { return a->score > b->score; });
  std::set<const TrueObject*> met;
  DetectionErrors errors;
  for (const auto* find : finds) {
    const TrueObject* best = nullptr;
    double most = 0;
    bool is_ignored = false;
    for (const auto* object : picture.truth) {
      const double common = object->category_id == find->category_id ? overlap(*find, *object, object->ignore) : 0;
      if (common < least_overlap) continue;
      if (object->ignore)
        is_ignored = true;
      else if (common > most)
        most = common, best = object;
    }
    // A crowd matches the detections that match no object of their own, as in COCO's evaluation.
    const bool is_met = best && met.insert(best).second;
    if (!is_met && !is_ignored) ++errors.false_positives;
  }
  for (const auto* object : picture.truth) errors.false_negatives += !object->ignore && !met.contains(object);
  return errors;
}

}  // namespace flowtrain
