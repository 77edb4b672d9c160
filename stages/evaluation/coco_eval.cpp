#include "stages/evaluation/coco_eval.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <future>
#include <limits>
#include <numeric>

#include "stages/evaluation/ground_truth.h"

namespace flowtrain {
namespace {

constexpr std::size_t thresholds = 10, recall_points = 101, max_detections = 100;

/// Returns threshold `t` of the overlap, equal to numpy.linspace(0.5, 0.95, 10) to the last bit.
constexpr double threshold(std::size_t t) { return t == 9 ? 0.95 : static_cast<double>(t) * ((0.95 - 0.5) / 9) + 0.5; }

/// Ranges of areas include both ends.
enum Range : std::size_t { all, small, medium, large, ranges };
constexpr std::array<std::pair<double, double>, ranges> areas{
    {{0, 1e10}, {0, 32 * 32}, {32 * 32, 96 * 96}, {96 * 96, 1e10}}};

bool outside(double area, std::size_t range) { return area < areas[range].first || area > areas[range].second; }

/// The outcome of a detection; a bit for each threshold.
struct Outcome {
  double score;
  std::size_t rank;  ///< place in its picture, from 0
  std::array<std::uint16_t, ranges> matched{}, ignored{};
};

using Objects = std::span<const Placed<TrueObject>>;
using Detections = std::span<const Placed<FoundObject>>;

/// Gives each detection of one picture the object it overlaps most among the free ones.
class Matcher {
 public:
  /// `detections` come by descending score.
  Matcher(Objects objects, Detections detections) : objects_(objects), detections_(detections) {
    overlaps_.reserve(objects.size() * detections.size());
    for (const auto& found : detections)
      for (const auto& object : objects) overlaps_.push_back(overlap(*found.item, *object.item, object.item->ignore));
    ignored_.resize(objects.size());
    order_.resize(objects.size());
    taken_.resize(objects.size());
  }

  /// Fills in the outcomes for a range of areas; returns the number of objects to find.
  std::size_t match(std::size_t range, std::span<Outcome> outcomes) {
    for (std::size_t i = 0; i < objects_.size(); ++i)
      ignored_[i] = objects_[i].item->ignore || outside(objects_[i].item->area, range);
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_partition(order_.begin(), order_.end(), [this](std::size_t i) { return !ignored_[i]; });
    for (std::size_t t = 0; t < thresholds; ++t) match_at(t, range, outcomes);
    return static_cast<std::size_t>(std::count(ignored_.begin(), ignored_.end(), false));
  }

 private:
  void match_at(std::size_t t, std::size_t range, std::span<Outcome> outcomes) {
    const auto bit = static_cast<std::uint16_t>(1U << t);
    std::fill(taken_.begin(), taken_.end(), false);
    for (std::size_t d = 0; d < detections_.size(); ++d) {
      const auto best = best_object(d, threshold(t));
      if (best < objects_.size()) {
        taken_[best] = true;
        outcomes[d].matched[range] |= bit;
      }
      const auto& box = *detections_[d].item;
      const bool ignored = best < objects_.size() ? ignored_[best] : outside(box.width * box.height, range);
      if (ignored) outcomes[d].ignored[range] |= bit;
    }
  }

  /// Prefers the last of equal overlaps; an ignored object counts only if no other will do, and may be matched again.
  std::size_t best_object(std::size_t detection, double least) const {
    const double* overlaps = overlaps_.data() + detection * objects_.size();
    std::size_t best = objects_.size();
    for (const auto object : order_) {
      if (taken_[object] && !objects_[object].item->ignore) continue;
      if (best < objects_.size() && !ignored_[best] && ignored_[object]) break;
      if (overlaps[object] < least) continue;
      least = overlaps[object];
      best = object;
    }
    return best;
  }

  Objects objects_;
  Detections detections_;
  std::vector<double> overlaps_;  ///< (detections, objects)
  std::vector<char> ignored_;     ///< ignored objects in the current range
  std::vector<std::size_t> order_;
  std::vector<char> taken_;  ///< objects taken at the current threshold
};

/// One class over all pictures.
class ClassEvaluation {
 public:
  explicit ClassEvaluation(const OfClass& items) {
    auto object = items.objects.begin();
    const auto objects_of = [&](std::uint32_t image) {
      const auto first = object;
      while (object != items.objects.end() && object->image == image) ++object;
      return Objects(first, object);
    };
    for_each_image(items.detections, [&](auto first, auto last) {
      while (object != items.objects.end() && object->image < first->image) add_picture(objects_of(object->image), {});
      std::vector<Placed<FoundObject>> sorted(first, last);
      std::stable_sort(sorted.begin(), sorted.end(),
                       [](const auto& a, const auto& b) { return a.item->score > b.item->score; });
      if (sorted.size() > max_detections) sorted.resize(max_detections);
      add_picture(objects_of(first->image), sorted);
    });
    while (object != items.objects.end()) add_picture(objects_of(object->image), {});
    std::stable_sort(outcomes_.begin(), outcomes_.end(),
                     [](const Outcome& a, const Outcome& b) { return a.score > b.score; });
  }

  CocoScores scores() const {
    CocoScores out;
    if (to_find_[all] > 0) {
      out.ap50 = precision(0, all);
      out.ap75 = precision(5, all);
    }
    out.ap = mean_precision(all);
    out.ap_small = mean_precision(small);
    out.ap_medium = mean_precision(medium);
    out.ap_large = mean_precision(large);
    out.ar1 = mean_recall(all, 1);
    out.ar10 = mean_recall(all, 10);
    out.ar100 = mean_recall(all, 100);
    out.ar_small = mean_recall(small, 100);
    out.ar_medium = mean_recall(medium, 100);
    out.ar_large = mean_recall(large, 100);
    return out;
  }

 private:
  void add_picture(Objects objects, Detections detections) {
    const auto begin = outcomes_.size();
    for (std::size_t rank = 0; rank < detections.size(); ++rank)
      outcomes_.push_back({detections[rank].item->score, rank});
    Matcher matcher(objects, detections);
    for (std::size_t range = 0; range < ranges; ++range)
      to_find_[range] += matcher.match(range, std::span(outcomes_).subspan(begin));
  }

  /// Returns the mean, over 101 recalls, of the best precision at that recall or above.
  double precision(std::size_t t, std::size_t range) const {
    std::vector<double> precisions, recalls;
    double right = 0, wrong = 0;
    for (const auto& outcome : outcomes_) {
      if (outcome.ignored[range] >> t & 1) continue;
      ++(outcome.matched[range] >> t & 1 ? right : wrong);
      precisions.push_back(right / (wrong + right + std::numeric_limits<double>::epsilon()));
      recalls.push_back(right / static_cast<double>(to_find_[range]));
    }
    for (std::size_t i = precisions.size(); i-- > 1;) precisions[i - 1] = std::max(precisions[i - 1], precisions[i]);
    double sum = 0;
    for (std::size_t i = 0; i < recall_points; ++i) {
      const double wanted = i + 1 < recall_points ? static_cast<double>(i) * 0.01 : 1.0;
      const auto at = std::lower_bound(recalls.begin(), recalls.end(), wanted) - recalls.begin();
      if (static_cast<std::size_t>(at) < precisions.size()) sum += precisions[static_cast<std::size_t>(at)];
    }
    return sum / recall_points;
  }

  double mean_precision(std::size_t range) const {
    if (to_find_[range] == 0) return -1;
    double sum = 0;
    for (std::size_t t = 0; t < thresholds; ++t) sum += precision(t, range);
    return sum / thresholds;
  }

  double mean_recall(std::size_t range, std::size_t detections) const {
    if (to_find_[range] == 0) return -1;
    std::size_t found = 0;
    for (const auto& outcome : outcomes_)
      if (outcome.rank < detections)
        found += static_cast<std::size_t>(
            std::popcount(static_cast<std::uint16_t>(outcome.matched[range] & ~outcome.ignored[range])));
    return static_cast<double>(found) / static_cast<double>(to_find_[range]) / thresholds;
  }

  std::vector<Outcome> outcomes_;  ///< sorted by descending score
  std::array<std::size_t, ranges> to_find_{};
};

CocoScores mean_of(const std::vector<CocoScores>& classes) {
  CocoScores mean;
  for (const auto& [name, score] : coco_score_names) {
    double sum = 0;
    std::size_t count = 0;
    for (const auto& each : classes) {
      if (each.*score < 0) continue;
      sum += each.*score;
      ++count;
    }
    if (count > 0) mean.*score = sum / static_cast<double>(count);
  }
  return mean;
}

}  // namespace

CocoEvaluation coco_evaluate(const GroundTruth& truth, std::span<const FoundObject> detections, unsigned threads) {
  const auto classes = by_class(truth, detections);
  CocoEvaluation out;
  out.classes.resize(classes.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < classes.size(); i = next++) out.classes[i] = ClassEvaluation(classes[i]).scores();
  };
  std::vector<std::future<void>> others;
  for (unsigned i = 1; i < threads; ++i) others.push_back(std::async(std::launch::async, work));
  work();
  for (auto& other : others) other.get();
  out.all = mean_of(out.classes);
  return out;
}

}  // namespace flowtrain
