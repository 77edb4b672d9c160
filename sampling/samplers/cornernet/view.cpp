#include "sampling/samplers/cornernet/view.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/images/crop.h"

namespace flowtrain {
namespace {

std::string describe(std::size_t number, const Box& box) {
  char text[256];
  std::snprintf(text, sizeof text, "box %zu (%.2f %.2f %.2f %.2f)", number, static_cast<double>(box.x0),
                static_cast<double>(box.y0), static_cast<double>(box.x1), static_cast<double>(box.y1));
  return text;
}

void check(std::size_t number, const Box& box, const Picture& picture, const CornerOptions& options) {
  if (box.label < 0 || box.label >= options.classes)
    throw SampleError(concat("box ", number, ": class ", box.label, " is out of range 0..", options.classes - 1));
  for (const float corner : {box.x0, box.y0, box.x1, box.y1})
    if (!std::isfinite(corner)) throw SampleError(describe(number, box) + ": a corner is not a number");
  const bool has_area = box.x0 != box.x1 && box.y0 != box.y1;
  if (options.mirror || !has_area) return;
  if (box.x1 < box.x0 || box.y1 < box.y0)
    throw SampleError(describe(number, box) + ": its second corner is left of or above the first");
  if (box.x1 <= 0 || box.y1 <= 0 || box.x0 >= static_cast<float>(picture.width) ||
      box.y0 >= static_cast<float>(picture.height))
    throw SampleError(
        concat(describe(number, box), " is outside of the image of ", picture.width, "x", picture.height));
}

}  // namespace

void take_boxes(std::span<const Box> boxes, const Picture& picture, const CornerOptions& options, View& view) {
  view.boxes.clear();
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    check(i, boxes[i], picture, options);
    view.boxes.push_back({boxes[i], boxes[i]});
  }
}

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
