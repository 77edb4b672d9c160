#include "stages/detection/boxes.h"

#include <algorithm>
#include <functional>

namespace flowtrain {

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
