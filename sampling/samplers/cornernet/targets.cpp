#include "sampling/samplers/cornernet/targets.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/samplers/area.h"

namespace flowtrain {
namespace {

/// A corner on the output: its cell, and its place in the cell. They are doubles, because floats would move corners at
/// a cell's edge to the other side.
struct Corner {
  int x, y;
  float off_x, off_y;
};

class TargetWriter {
 public:
  TargetWriter(const CornerOptions& options, const CornerTargets& targets)
      : options_(options),
        targets_(targets),
        across_(static_cast<double>(options.output_size.width) / options.input_size.width),
        down_(static_cast<double>(options.output_size.height) / options.input_size.height) {
    const auto objects = static_cast<std::size_t>(options.max_objects);
    std::fill_n(targets.gaussians, gaussians_of(options), GaussianTarget{-1});
    std::fill_n(targets.mask, objects, std::uint8_t{0});
    for (float* off : {targets.tl_off, targets.br_off}) std::fill_n(off, 2 * objects, 0.0f);
    for (std::int64_t* ind : {targets.tl_ind, targets.br_ind}) std::fill_n(ind, objects, 0);
  }

  /// Adds the box to the Gaussians.
  void raise(const ViewBox& box) {
    const auto top_left = corner(box.at.x0, box.at.y0), bottom_right = corner(box.at.x1, box.at.y1);
    targets_.gaussians[raised_++] = {box.at.label,   top_left.x,        top_left.y, bottom_right.x,
                                     bottom_right.y, radius_of(box.at), box.shown};
  }

  /// Adds the box to the objects.
  void tag(const ViewBox& box) {
    targets_.mask[tagged_] = 1;
    put(corner(box.at.x0, box.at.y0), targets_.tl_off, targets_.tl_ind);
    put(corner(box.at.x1, box.at.y1), targets_.br_off, targets_.br_ind);
    ++tagged_;
  }

 private:
  Corner corner(float input_x, float input_y) const {
    const double at_x = input_x * across_, at_y = input_y * down_;
    const int x = static_cast<int>(at_x), y = static_cast<int>(at_y);
    return {x, y, static_cast<float>(at_x - x), static_cast<float>(at_y - y)};
  }

  int radius_of(const Box& box) const {
    if (!options_.gaussian_window) return 0;
    if (options_.gaussian_radius >= 0) return options_.gaussian_radius;
    const double height = std::ceil((box.y1 - box.y0) * down_), width = std::ceil((box.x1 - box.x0) * across_);
    return std::max(0, static_cast<int>(gaussian_radius(height, width, options_.gaussian_iou)));
  }

  void put(const Corner& corner, float* off, std::int64_t* ind) const {
    off[2 * tagged_] = corner.off_x;
    off[2 * tagged_ + 1] = corner.off_y;
    ind[tagged_] = static_cast<std::int64_t>(corner.y) * options_.output_size.width + corner.x;
  }

  const CornerOptions& options_;
  const CornerTargets& targets_;
  double across_, down_;
  std::size_t raised_ = 0, tagged_ = 0;
};

/// Keeps the `most` largest of the chosen boxes, in their order.
void keep_largest(std::span<const ViewBox> boxes, std::int64_t most, std::vector<std::size_t>& chosen) {
  if (static_cast<std::int64_t>(chosen.size()) <= most) return;
  const auto cut = chosen.begin() + most;
  std::nth_element(chosen.begin(), cut, chosen.end(), [&](std::size_t a, std::size_t b) {
    const double area_a = area_of(boxes[a].at), area_b = area_of(boxes[b].at);
    return area_a != area_b ? area_a > area_b : a < b;
  });
  chosen.erase(cut, chosen.end());
  std::sort(chosen.begin(), chosen.end());
}

}  // namespace

double gaussian_radius(double height, double width, double min_overlap) {
  const double o = min_overlap, sum = height + width, area = height * width;
  // Each case is a quadratic equation in the radius. Here one corner moves in and the other out:
  const double shifted = (sum - std::sqrt(sum * sum - 4 * area * (1 - o) / (1 + o))) / 2;
  // Here both move in:
  const double inside = (2 * sum - std::sqrt(4 * sum * sum - 16 * (1 - o) * area)) / 8;
  // Here both move out:
  const double outside = (-2 * o * sum + std::sqrt(4 * o * o * sum * sum + 16 * o * (1 - o) * area)) / (8 * o);
  return std::min({shifted, inside, outside});
}

void write_targets(std::span<const ViewBox> boxes, const CornerOptions& options, const CornerTargets& targets) {
  TargetWriter writer(options, targets);
  thread_local std::vector<std::size_t> chosen;
  chosen.resize(boxes.size());
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  keep_largest(boxes, gaussians_of(options), chosen);
  for (const auto i : chosen) writer.raise(boxes[i]);

  chosen.clear();
  for (std::size_t i = 0; i < boxes.size(); ++i)
    if (boxes[i].shown) chosen.push_back(i);
  const auto objects = chosen.size();
  if (options.mirror && objects > static_cast<std::size_t>(options.max_objects))
    throw SampleError(concat(objects, " objects are more than max_objects = ", options.max_objects));
  keep_largest(boxes, options.max_objects, chosen);
  for (const auto i : chosen) writer.tag(boxes[i]);
  *targets.untagged = static_cast<std::int32_t>(objects - chosen.size());
}

void write_attention(std::span<const ViewBox> boxes, const AttentionMap& map, float* values) {
  std::fill_n(values, static_cast<std::size_t>(map.size) * static_cast<std::size_t>(map.size), 0.0f);
  for (const auto& [box, whole, shown] : boxes) {
    if (const float side = long_side(box); side < map.least || side > map.most) continue;
    const auto x = static_cast<int>(static_cast<double>(box.x0 + box.x1) / 2 / map.ratio);
    const auto y = static_cast<int>(static_cast<double>(box.y0 + box.y1) / 2 / map.ratio);
    values[static_cast<std::ptrdiff_t>(y) * map.size + x] = 1;
  }
}

}  // namespace flowtrain
