// The views of CornerNet and CornerNet-Squeeze.
#include <algorithm>
#include <cstring>

#include "sampling/images/fixed_point_resize.h"
#include "sampling/samplers/cornernet/view.h"

namespace flowtrain {
namespace {

/// Returns the distance of a part's centre from the edges: `border` halved until there is room between two of them.
int edge_distance(int border, int size) {
  int distance = border;
  for (int divisor = 2; size - distance <= distance; divisor *= 2) distance = border / divisor;
  return distance;
}

/// Cuts a part of a drawn size around a drawn centre; `part` holds its pixels.
Picture cut_part(const Picture& picture, const CornerOptions& options, DrawSource& draws, std::vector<ViewBox>& boxes,
                 Image& part) {
  const double scale = draws.choice(options.scales);
  const int height = std::max(static_cast<int>(options.input_size.height * scale), 1);
  const int width = std::max(static_cast<int>(options.input_size.width * scale), 1);
  const int from_x = edge_distance(options.border, picture.width);
  const int from_y = edge_distance(options.border, picture.height);
  const auto centre_x = static_cast<int>(draws.integer(from_x, picture.width - from_x));
  const auto centre_y = static_cast<int>(draws.integer(from_y, picture.height - from_y));
  const AxisCut x = cut_axis(centre_x, width, picture.width), y = cut_axis(centre_y, height, picture.height);

  part.reshape(height, width, 3);
  std::fill(part.pixels.begin(), part.pixels.end(), 0);
  for (int row = 0; row < y.count; ++row)
    std::memcpy(part.row(y.to + row) + x.to * 3, picture.row(y.from + row) + x.from * 3,
                static_cast<std::size_t>(x.count) * 3);
  for (auto& [box, whole, shown] : boxes) {  // two steps, each rounded to float
    move_box(box, -static_cast<float>(x.from), -static_cast<float>(y.from));
    move_box(box, static_cast<float>(x.to), static_cast<float>(y.to));
  }
  return part.view();
}

}  // namespace

void cut_cornernet(const Picture& picture, const CornerOptions& options, DrawSource& draws, View& view) {
  thread_local Image memory;
  const Extent& size = options.input_size;
  const Picture part = options.rand_crop ? cut_part(picture, options, draws, view.boxes, memory) : picture;
  const std::size_t row_bytes = static_cast<std::size_t>(size.width) * 3;
  view.pixels.resize(static_cast<std::size_t>(size.height) * row_bytes);
  resize_fixed_point(part, size.height, size.width, {0, 0, size.height, size.width}, view.pixels.data(), row_bytes);
  const auto down = static_cast<float>(static_cast<double>(size.height) / part.height);
  const auto across = static_cast<float>(static_cast<double>(size.width) / part.width);
  for (auto& [box, whole, shown] : view.boxes) scale_box(box, across, down);
  clip_boxes(view.boxes, 0, 0, static_cast<float>(size.width), static_cast<float>(size.height));
  maybe_flip(size, draws, view);
}

}  // namespace flowtrain
