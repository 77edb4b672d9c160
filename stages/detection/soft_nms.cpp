#include "stages/detection/soft_nms.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "sampling/core/error.h"

namespace flowtrain {
namespace {

float area(const ScoredBox& box) { return (box.x1 - box.x0 + 1) * (box.y1 - box.y0 + 1); }

/// Intersection over union; 0 for boxes that do not touch.
float overlap(const ScoredBox& a, const ScoredBox& b) {
  const float width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0) + 1;
  const float height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0) + 1;
  if (!(width > 0 && height > 0)) return 0;
  return width * height / (area(a) + area(b) - width * height);
}

float factor(float iou, const NmsOptions& options) {
  switch (options.method) {
    case NmsMethod::hard: return iou > options.threshold ? 0.0F : 1.0F;
    case NmsMethod::linear: return iou > options.threshold ? 1 - iou : 1.0F;
    case NmsMethod::exponential: return static_cast<float>(std::exp(static_cast<double>(-(iou * iou) / options.sigma)));
    case NmsMethod::none: return 1;
  }
  throw InternalError("soft_nms: unknown method");
}

/// Puts `from` in the place of `to`.
void move_into(ScoredBox& to, const ScoredBox& from, bool mirror) {
  const ScoredBox before = to;
  to = from;
  if (!mirror) return;
  to.tl_score = before.tl_score;
  to.br_score = before.br_score;
}

/// The weighted mean of the boxes that overlap one.
class Mean {
 public:
  void add(const ScoredBox& box, float weight) {
    const float tl = box.tl_score * weight, br = box.br_score * weight;
    x0_ += box.x0 * tl, y0_ += box.y0 * tl, tl_ += tl;
    x1_ += box.x1 * br, y1_ += box.y1 * br, br_ += br;
  }
  /// Corners without weight stay where they are.
  void put_into(ScoredBox& box) const {
    if (tl_ > 0) box.x0 = x0_ / tl_, box.y0 = y0_ / tl_;
    if (br_ > 0) box.x1 = x1_ / br_, box.y1 = y1_ / br_;
  }

 private:
  float x0_ = 0, y0_ = 0, x1_ = 0, y1_ = 0, tl_ = 0, br_ = 0;
};

}  // namespace

NmsMethod nms_method(const std::string& name) {
  if (name == "nms") return NmsMethod::hard;
  if (name == "linear_soft_nms") return NmsMethod::linear;
  if (name == "exp_soft_nms") return NmsMethod::exponential;
  if (name == "none") return NmsMethod::none;
  throw UserError(ExitCode::usage,
                  "nms_algorithm is '" + name + "', expected nms, linear_soft_nms, exp_soft_nms or none",
                  "Write one of these names.");
}

std::size_t soft_nms(std::span<ScoredBox> boxes, const NmsOptions& options) {
  std::size_t count = boxes.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto best = std::max_element(boxes.begin() + i, boxes.begin() + count,
                                       [](const ScoredBox& a, const ScoredBox& b) { return a.score < b.score; });
    const ScoredBox first = boxes[i];
    move_into(boxes[i], *best, options.mirror);
    move_into(*best, first, options.mirror);

    const ScoredBox chosen = boxes[i];
    Mean mean;
    mean.add(chosen, 1);
    for (std::size_t k = i + 1; k < count;) {
      const float iou = overlap(chosen, boxes[k]);
      if (iou > 0) {
        const float kept = factor(iou, options);
        if (options.merge) mean.add(boxes[k], std::pow(1 - kept, options.weight_exp));
        boxes[k].score *= kept;
        if (boxes[k].score < options.least) {
          move_into(boxes[k], boxes[--count], options.mirror);
          continue;
        }
      }
      ++k;
    }
    if (options.merge) mean.put_into(boxes[i]);
  }
  return count;
}

void soft_nms(ClassBoxes& boxes, const NmsOptions& options) {
  for (auto& of_class : boxes) {
    const std::size_t kept = soft_nms(std::span(of_class), options);
    if (!options.mirror) of_class.resize(kept);
  }
}

void keep_best(ClassBoxes& boxes, std::size_t most) {
  std::vector<float> scores;
  for (const auto& of_class : boxes)
    for (const ScoredBox& box : of_class) scores.push_back(box.score);
  if (scores.size() <= most) return;
  if (most == 0) return boxes.assign(boxes.size(), {});
  const auto last = scores.begin() + static_cast<std::ptrdiff_t>(most - 1);
  std::nth_element(scores.begin(), last, scores.end(), std::greater<>());
  for (auto& of_class : boxes) std::erase_if(of_class, [&](const ScoredBox& box) { return box.score < *last; });
}

}  // namespace flowtrain
