#include "stages/torch/detection/attention.h"

#include <ATen/ATen.h>

namespace flowtrain {
namespace {

struct Crop {
  double scale, y, x;
};

void add_cells(const at::TensorAccessor<float, 2>& map, const Crop& crop, double scale, int ratio,
               const AttentionOptions& options, std::vector<Location>& locations) {
  for (std::int64_t row = 0; row < map.size(0); ++row) {
    for (std::int64_t column = 0; column < map.size(1); ++column) {
      if (!(map[row][column] > options.threshold)) continue;
      const double y = static_cast<double>(row * ratio) / crop.scale + crop.y;
      const double x = static_cast<double>(column * ratio) / crop.scale + crop.x;
      if (y < 0 || y >= options.height || x < 0 || x >= options.width) continue;
      locations.push_back({y, x, scale, map[row][column]});
    }
  }
}

}  // namespace

std::vector<at::Tensor> attention_peaks(const std::vector<at::Tensor>& maps, const std::vector<int>& kernels) {
  std::vector<at::Tensor> peaks;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const int kernel = kernels.at(i);
    const at::Tensor highest = at::max_pool2d(maps[i], {kernel, kernel}, {1, 1}, {kernel / 2, kernel / 2});
    peaks.push_back(maps[i].masked_fill(maps[i].ne(highest), 0));
  }
  return peaks;
}

std::vector<Location> attended(const std::vector<at::Tensor>& maps, const std::vector<double>& scales,
                               const at::Tensor& offsets, const AttentionOptions& options) {
  std::vector<Location> locations;
  const auto corner = offsets.accessor<float, 2>();
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const auto crop_index = static_cast<std::int64_t>(i);
    const Crop crop{scales[i], corner[crop_index][0], corner[crop_index][1]};
    for (std::size_t m = 0; m < maps.size(); ++m) {
      const double scale = options.factors.at(m) * crop.scale;
      if ((options.only_closer && options.factors[m] <= 1) || crop.scale > 2 || scale > 4) continue;
      const auto map = maps[m].accessor<float, 4>();
      add_cells(map[crop_index][0], crop, scale, options.ratios.at(m), options, locations);
    }
  }
  return locations;
}

}  // namespace flowtrain
