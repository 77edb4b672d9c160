#include "nets/cornernet/gaussians.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <stdexcept>

#include "nets/parallel.h"

// `heat` comes filled with 0, `valid` with 1. `corner` is the column of the corner's x.
TORCH_LIBRARY_FRAGMENT(flowtrain, library) {
  library.def("draw_gaussians(Tensor gaussians, int corner, Tensor(a!) heat, Tensor(b!)? valid) -> ()");
}

namespace flowtrain::nets {
namespace {

/// Calls visit(x, y, pointer to the map's value) for the cells of the square around (x, y) that lie on the map.
template <class Visit>
void for_square(const HeatMap& map, int x, int y, int radius, Visit visit) {
  const int left = std::max(x - radius, 0), right = std::min(x + radius, map.width - 1);
  const int top = std::max(y - radius, 0), bottom = std::min(y + radius, map.height - 1);
  for (int row = top; row <= bottom; ++row)
    for (int column = left; column <= right; ++column)
      visit(column, row, map.values + static_cast<std::ptrdiff_t>(row) * map.width + column);
}

enum Column { category, top_left, bottom_right = 3, radius = 5, shown, columns };

void draw_gaussians_cpu(const at::Tensor& gaussians, std::int64_t corner, at::Tensor& heat,
                        const std::optional<at::Tensor>& valid) {
  const std::int64_t rows = gaussians.size(1), classes = heat.size(1), cells = heat.size(2) * heat.size(3);
  const auto height = static_cast<int>(heat.size(2)), width = static_cast<int>(heat.size(3));
  const auto* const all = gaussians.const_data_ptr<std::int32_t>();
  auto* const maps = heat.mutable_data_ptr<float>();
  auto* const weights = valid ? valid->mutable_data_ptr<float>() : nullptr;
  parallel_for(0, gaussians.size(0), 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first * rows; row < last * rows; ++row) {
      const std::int32_t* const gaussian = all + row * columns;
      if (gaussian[category] < 0 || gaussian[category] >= classes) continue;
      const std::int64_t map = (row / rows * classes + gaussian[category]) * cells;
      const int x = gaussian[corner], y = gaussian[corner + 1];
      if (gaussian[shown])
        draw_gaussian({maps + map, height, width}, x, y, gaussian[radius]);
      else if (weights)
        fill_square({weights + map, height, width}, x, y, gaussian[radius], 0);
    }
  });
}

TORCH_LIBRARY_IMPL(flowtrain, CPU, library) { library.impl("draw_gaussians", draw_gaussians_cpu); }

}  // namespace

void gaussian_profile(int radius, std::vector<double>& profile) {
  const double sigma = (2 * radius + 1) / 6.0;
  profile.clear();
  for (int d = 0; d <= radius; ++d) profile.push_back(std::exp(-static_cast<double>(d) * d / (2 * sigma * sigma)));
}

void draw_gaussian(const HeatMap& map, int x, int y, int radius) {
  thread_local std::vector<double> profile;
  gaussian_profile(radius, profile);
  for_square(map, x, y, radius, [&](int column, int row, float* value) {
    const double down = profile[static_cast<std::size_t>(std::abs(row - y))];
    const double across = profile[static_cast<std::size_t>(std::abs(column - x))];
    *value = std::max(*value, static_cast<float>(down * across));
  });
}

void fill_square(const HeatMap& map, int x, int y, int radius, float value) {
  for_square(map, x, y, radius, [&](int, int, float* cell) { *cell = value; });
}

CornerHeat draw_gaussians(const at::Tensor& gaussians, std::int64_t classes, std::int64_t height, std::int64_t width,
                          bool valid) {
  if (gaussians.dim() != 3 || gaussians.size(2) != columns || gaussians.scalar_type() != at::kInt)
    throw std::invalid_argument(c10::str("gaussians: ", gaussians.scalar_type(), " of shape ", gaussians.sizes(),
                                         ", expected i32 of (B, M, ", static_cast<int>(columns), ")"));
  static const auto draw = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("flowtrain::draw_gaussians", "")
                               .typed<decltype(draw_gaussians_cpu)>();
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const at::Tensor dense = gaussians.contiguous();
  const auto maps = [&](float value) {
    return at::full({gaussians.size(0), classes, height, width}, value, gaussians.options().dtype(at::kFloat));
  };
  const auto one_corner = [&](Column corner, at::Tensor& heat, at::Tensor& weights) {
    heat = maps(0);
    if (valid) weights = maps(1);
    draw.call(dense, corner, heat, valid ? std::optional(weights) : std::nullopt);
  };
  CornerHeat drawn;
  one_corner(top_left, drawn.tl, drawn.tl_valid);
  one_corner(bottom_right, drawn.br, drawn.br_valid);
  return drawn;
}

}  // namespace flowtrain::nets
