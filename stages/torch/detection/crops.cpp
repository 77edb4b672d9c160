#include "stages/torch/detection/crops.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace flowtrain {
namespace {

/// The place and the enlargement of a crop in the picture.
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

/// One axis of a crop: the part of the picture and its place in the net's input. Both are counted from the middle,
/// which is the location, and cut to whole pixels on both sides of it.
struct CropAxis {
  CropAxis(int middle, int crop, int picture, int input, double scale) {
    from = std::max(0, middle - crop / 2);
    const int end = std::min(middle + crop / 2, picture);
    count = end - from;
    to = input / 2 - static_cast<int>((middle - from) * scale);
    scaled = input / 2 + static_cast<int>((end - middle) * scale) - to;
  }
  int from, count;  // range in the picture
  int to, scaled;   // range in the input
};

void cut(const at::Tensor& picture, const Location& location, at::Tensor image, at::Tensor offset) {
  const int input_height = static_cast<int>(image.size(1)), input_width = static_cast<int>(image.size(2));
  const int middle_y = static_cast<int>(location.y), middle_x = static_cast<int>(location.x);
  const int height = std::max(1, static_cast<int>(input_height / location.scale));
  const int width = std::max(1, static_cast<int>(input_width / location.scale));
  // The crop was rounded to whole pixels, so this differs from the location's own scale.
  const double scale = static_cast<double>(input_height) / std::max(height, width);
  const CropAxis y(middle_y, height, static_cast<int>(picture.size(1)), input_height, scale);
  const CropAxis x(middle_x, width, static_cast<int>(picture.size(2)), input_width, scale);

  offset[0] = middle_y - height / 2;
  offset[1] = middle_x - width / 2;
  if (y.count <= 0 || x.count <= 0 || y.scaled <= 0 || x.scaled <= 0) return;  // the crop is outside the picture
  const at::Tensor part = picture.narrow(1, y.from, y.count).narrow(2, x.from, x.count).unsqueeze(0);
  image.narrow(1, y.to, y.scaled)
      .narrow(2, x.to, x.scaled)
      .copy_(at::upsample_bilinear2d(part, {y.scaled, x.scaled}, /*align_corners=*/false)[0]);
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

Crops cut_crops(const at::Tensor& picture, std::span<const Location> locations, std::array<int, 2> input_size) {
  const auto count = static_cast<std::int64_t>(locations.size());
  Crops crops{at::zeros({count, 3, input_size[0], input_size[1]}), at::empty({count}, at::kDouble),
              at::empty({count, 2})};
  for (std::int64_t i = 0; i < count; ++i) {
    const Location& location = locations[static_cast<std::size_t>(i)];
    cut(picture, location, crops.images[i], crops.offsets[i]);
    crops.scales[i] = location.scale;
  }
  return crops;
}

void to_input_pixels(at::Tensor& boxes, std::array<int, 2> input_size, std::array<int, 2> output_size) {
  for (const int axis : {0, 1}) {  // rows hold x, y, x, y; sizes are {height, width}
    const double ratio = static_cast<double>(output_size[1 - axis]) / input_size[1 - axis];
    boxes.slice(2, axis, 4, 2).div_(ratio);
  }
}

void to_picture_pixels(at::Tensor& boxes, const at::Tensor& scales, const at::Tensor& offsets) {
  for (const int axis : {0, 1}) {
    const at::Tensor offset = offsets.select(1, 1 - axis).view({-1, 1, 1});
    boxes.slice(2, axis, 4, 2).div_(scales.view({-1, 1, 1})).add_(offset);
  }
}

}  // namespace flowtrain
