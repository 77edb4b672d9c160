// The views of CornerNet-Saccade.
#include <algorithm>
#include <cmath>
#include <optional>

#include "sampling/images/fixed_point_resize.h"
#include "sampling/samplers/area.h"
#include "sampling/samplers/cornernet/view.h"

namespace flowtrain {
namespace {

/// The scale of the image, and the box that the scale was drawn for.
struct Reference {
  double scale;
  std::optional<std::size_t> box;
};

/// Draws a target size; objects keep their size class: large, medium or small.
std::int64_t draw_target(double side, DrawSource& draws) {
  if (side > 96) return draws.integer(96, 255);
  if (side > 32) return draws.integer(32, 97);
  return draws.integer(16, 33);
}

Reference draw_reference(const std::vector<ViewBox>& boxes, const CornerOptions& options, DrawSource& draws) {
  if (!options.augment || boxes.empty() || (options.rand_crop && draws.uniform() > 0.7))
    return {draws.choice(options.scales), {}};
  const auto box = static_cast<std::size_t>(draws.integer(0, static_cast<std::int64_t>(boxes.size())));
  const double side = long_side(boxes[box].at);
  // A box of less than a pixel would enlarge the image without bounds.
  return {static_cast<double>(draw_target(side, draws)) / std::max(side, 1.0), box};
}

/// The ends of the reference box along an axis.
struct Ends {
  float low, high;
};

/// Draws an integer from `low` to `high`. Rounding may leave none for a box at the far edge.
int draw_between(double low, double high, DrawSource& draws) {
  const auto last = static_cast<std::int64_t>(high);
  return static_cast<int>(draws.integer(std::min(static_cast<std::int64_t>(low), last), last + 1));
}

/// Draws the centre of the part along an axis of `size` pixels of which `length` are cut.
int draw_centre(int size, int length, const std::optional<Ends>& box, bool centred, DrawSource& draws) {
  if (size <= length) return size / 2;
  if (box && centred) {
    const double middle = std::floor((box->low + box->high) / 2);
    const double low = std::max(middle - static_cast<double>(draws.integer(0, 15)), 0.0);
    const double high = std::min(middle + static_cast<double>(draws.integer(0, 15)), size - 1.0);
    return draw_between(low, high, draws);
  }
  const double low = box ? std::max(static_cast<double>(box->high) - length, 0.0) : 0;
  const double high = box ? std::min(static_cast<double>(size - length), static_cast<double>(box->low)) : size - length;
  return draw_between(low, high, draws) + length / 2;
}

/// Shows a box, with corners to be found, if more than half of it is in view and it is large enough.
void choose_shown(std::vector<ViewBox>& boxes, int min_scale) {
  for (auto& [box, whole, shown] : boxes) {
    const int height = static_cast<int>(box.y1) - static_cast<int>(box.y0);
    const int width = static_cast<int>(box.x1) - static_cast<int>(box.x0);
    const auto seen = static_cast<float>(area_of(box)), all = static_cast<float>(area_of(whole));
    shown = seen / all > 0.5f && std::max(height, width) >= min_scale;
  }
}

}  // namespace

void cut_saccade(const Picture& picture, const CornerOptions& options, DrawSource& draws, View& view) {
  clip_boxes(view.boxes, 0, 0, static_cast<float>(picture.width), static_cast<float>(picture.height));
  const auto [scale, chosen] = draw_reference(view.boxes, options, draws);
  const int height = std::max(static_cast<int>(picture.height * scale), 1);
  const int width = std::max(static_cast<int>(picture.width * scale), 1);
  for (auto& [box, whole, shown] : view.boxes) {
    scale_box(box, static_cast<float>(scale), static_cast<float>(scale));
    scale_box(whole, static_cast<float>(scale), static_cast<float>(scale));
  }

  const Extent& size = options.input_size;
  std::optional<Ends> across, down;
  if (chosen) {
    const Box& box = view.boxes[*chosen].at;
    across = {box.x0, box.x1}, down = {box.y0, box.y1};
  }
  const bool centred = options.rand_center && draws.uniform() > 0.5;
  const int centre_x = draw_centre(width, size.width, across, centred, draws);
  const int centre_y = draw_centre(height, size.height, down, centred, draws);
  const AxisCut x = cut_axis(centre_x, size.width, width), y = cut_axis(centre_y, size.height, height);

  const std::size_t row_bytes = static_cast<std::size_t>(size.width) * 3;
  view.pixels.assign(static_cast<std::size_t>(size.height) * row_bytes, 0);
  std::uint8_t* first = view.pixels.data() + static_cast<std::size_t>(y.to) * row_bytes + x.to * 3;
  resize_fixed_point(picture, height, width, {x.from, y.from, y.count, x.count}, first, row_bytes);
  const int first_x = centre_x - size.width / 2, first_y = centre_y - size.height / 2;
  const auto left = static_cast<float>(first_x), top = static_cast<float>(first_y);
  for (auto& [box, whole, shown] : view.boxes) move_box(box, -left, -top);
  clip_boxes(view.boxes, static_cast<float>(x.to), static_cast<float>(y.to), static_cast<float>(x.to + x.count),
             static_cast<float>(y.to + y.count));
  maybe_flip(size, draws, view);
  choose_shown(view.boxes, options.min_scale);
}

}  // namespace flowtrain
