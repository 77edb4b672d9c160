#include "stages/evaluation/voc_eval.h"

#include <algorithm>

#include "stages/evaluation/ground_truth.h"

namespace flowtrain {
namespace {

/// A point of the curve after each detection.
struct Reached {
  double recall, precision;
};

std::vector<Reached> curve_of(const OfClass& items, std::size_t to_find, double least_overlap) {
  auto detections = items.detections;
  std::stable_sort(detections.begin(), detections.end(),
                   [](const auto& a, const auto& b) { return a.item->score > b.item->score; });
  std::vector<char> found_before(items.objects.size());
  std::vector<Reached> curve;
  double right = 0, wrong = 0;
  for (const auto& found : detections) {
    const auto by_image = [](const auto& object, std::uint32_t image) { return object.image < image; };
    const auto first = std::lower_bound(items.objects.begin(), items.objects.end(), found.image, by_image);
    auto best = items.objects.end();
    double best_overlap = 0;
    for (auto object = first; object != items.objects.end() && object->image == found.image; ++object) {
      const double here = overlap(*found.item, *object->item, false);
      if (here <= best_overlap) continue;
      best_overlap = here;
      best = object;
    }
    const bool hits = best != items.objects.end() && best_overlap >= least_overlap;
    if (hits && best->item->ignore) continue;
    const auto place = static_cast<std::size_t>(best - items.objects.begin());
    ++(hits && !found_before[place] ? right : wrong);
    if (hits) found_before[place] = true;
    curve.push_back({right / static_cast<double>(to_find), right / (right + wrong)});
  }
  return curve;
}

double average_precision(std::vector<Reached> curve, VocRule rule) {
  for (std::size_t i = curve.size(); i-- > 1;)
    curve[i - 1].precision = std::max(curve[i - 1].precision, curve[i].precision);
  double sum = 0;
  if (rule == VocRule::all_points) {
    double before = 0;
    for (const auto& point : curve) {
      sum += (point.recall - before) * point.precision;
      before = point.recall;
    }
    return sum;
  }
  for (int tenth = 0; tenth <= 10; ++tenth) {
    const auto at =
        std::find_if(curve.begin(), curve.end(), [&](const Reached& p) { return p.recall >= tenth / 10.0; });
    if (at != curve.end()) sum += at->precision / 11;
  }
  return sum;
}

}  // namespace

VocEvaluation voc_evaluate(const GroundTruth& truth, std::span<const FoundObject> detections, VocRule rule,
                           double least_overlap) {
  VocEvaluation out;
  double sum = 0;
  std::size_t count = 0;
  for (const auto& items : by_class(truth, detections)) {
    const auto to_find = static_cast<std::size_t>(std::count_if(
        items.objects.begin(), items.objects.end(), [](const auto& object) { return !object.item->ignore; }));
    out.average_precisions.push_back(-1);
    if (to_find == 0) continue;
    out.average_precisions.back() = average_precision(curve_of(items, to_find, least_overlap), rule);
    sum += out.average_precisions.back();
    ++count;
  }
  if (count > 0) out.mean_ap = sum / static_cast<double>(count);
  return out;
}

}  // namespace flowtrain
