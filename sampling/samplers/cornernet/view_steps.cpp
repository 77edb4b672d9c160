#include "sampling/samplers/cornernet/view_steps.h"

#include <algorithm>

#include "sampling/images/crop.h"

namespace flowtrain {

AxisCut cut_axis(int centre, int length, int size) {
  const int half = length / 2;
  const int from = std::max(centre - half, 0), end = std::min(centre + half, size);
  return {from, half - (centre - from), end - from};
}

void clip_boxes(std::vector<ViewBox>& boxes, float x0, float y0, float x1, float y1) {
  for (auto& [box, whole, shown] : boxes) {
    box.x0 = std::min(std::max(box.x0, x0), x1 - 1);
    box.x1 = std::min(std::max(box.x1, x0), x1 - 1);
    box.y0 = std::min(std::max(box.y0, y0), y1 - 1);
    box.y1 = std::min(std::max(box.y1, y0), y1 - 1);
  }
  std::erase_if(boxes, [](const ViewBox& box) { return box.at.x1 - box.at.x0 <= 0 || box.at.y1 - box.at.y0 <= 0; });
}

void maybe_flip(const Extent& size, DrawSource& draws, View& view) {
  if (draws.uniform() <= 0.5) return;
  flip_horizontally(view.pixels.data(), size.height, size.width, 3);
  const auto width = static_cast<float>(size.width);
  for (auto& [box, whole, shown] : view.boxes) {
    const float left = width - box.x1 - 1;
    box.x1 = width - box.x0 - 1;
    box.x0 = left;
  }
}

}  // namespace flowtrain
