// Which boxes of a record a sample can be made with.
#include <cmath>
#include <cstdio>
#include <string>

#include "sampling/core/error.h"
#include "sampling/samplers/cornernet/view.h"

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
    throw SampleError("box " + std::to_string(number) + ": class " + std::to_string(box.label) +
                      " is out of range 0.." + std::to_string(options.classes - 1));
  for (const float corner : {box.x0, box.y0, box.x1, box.y1})
    if (!std::isfinite(corner)) throw SampleError(describe(number, box) + ": a corner is not a number");
  const bool has_area = box.x0 != box.x1 && box.y0 != box.y1;
  if (options.mirror || !has_area) return;
  if (box.x1 < box.x0 || box.y1 < box.y0)
    throw SampleError(describe(number, box) + ": its second corner is left of or above the first");
  if (box.x1 <= 0 || box.y1 <= 0 || box.x0 >= static_cast<float>(picture.width) ||
      box.y0 >= static_cast<float>(picture.height))
    throw SampleError(describe(number, box) + " lies outside the picture of " + std::to_string(picture.width) + "x" +
                      std::to_string(picture.height));
}

}  // namespace

void take_boxes(std::span<const Box> boxes, const Picture& picture, const CornerOptions& options, View& view) {
  view.boxes.clear();
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    check(i, boxes[i], picture, options);
    view.boxes.push_back({boxes[i], boxes[i]});
  }
}

}  // namespace flowtrain
