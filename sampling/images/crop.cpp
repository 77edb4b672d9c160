#include "sampling/images/crop.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace flowtrain {

void copy_window(const Picture& in, int x, int y, int height, int width, std::uint8_t* out) {
  const auto pixel_bytes = static_cast<std::size_t>(in.channels);
  const auto row_bytes = static_cast<std::size_t>(width) * pixel_bytes;
  const int left = std::clamp(-x, 0, width);                     // columns before the image
  const int right = std::clamp(x + width - in.width, 0, width);  // columns after it
  for (int row = 0; row < height; ++row, out += row_bytes) {
    const int from = y + row;
    if (from < 0 || from >= in.height || left + right >= width) {
      std::memset(out, 0, row_bytes);
      continue;
    }
    const auto left_bytes = static_cast<std::size_t>(left) * pixel_bytes;
    const auto right_bytes = static_cast<std::size_t>(right) * pixel_bytes;
    std::memset(out, 0, left_bytes);
    std::memcpy(out + left_bytes, in.row(from) + (x + left) * in.channels, row_bytes - left_bytes - right_bytes);
    std::memset(out + row_bytes - right_bytes, 0, right_bytes);
  }
}

void flip_horizontally(std::uint8_t* pixels, int height, int width, int channels) {
  for (int y = 0; y < height; ++y) {
    std::uint8_t* row = pixels + static_cast<std::size_t>(y) * static_cast<std::size_t>(width * channels);
    if (channels == 1) {
      std::reverse(row, row + width);
      continue;
    }
    std::uint8_t* last = row + (width - 1) * channels;
    for (; row < last; row += channels, last -= channels) std::swap_ranges(row, row + channels, last);
  }
}

Rect draw_resized_crop(int height, int width, std::span<const double> scale, std::span<const double> ratio,
                       Stream& random) {
  const double area = static_cast<double>(height) * width;
  const double log_least = std::log(ratio[0]), log_most = std::log(ratio[1]);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * random.uniform(scale[0], scale[1]);
    const double shape = std::exp(random.uniform(log_least, log_most));
    const double w = std::nearbyint(std::sqrt(target * shape)), h = std::nearbyint(std::sqrt(target / shape));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    const auto y = random.below(static_cast<std::uint64_t>(height - h) + 1);
    const auto x = random.below(static_cast<std::uint64_t>(width - w) + 1);
    return {static_cast<double>(x), static_cast<double>(y), w, h};
  }
  double w = width, h = height;
  if (w / h < ratio[0]) h = std::clamp(std::nearbyint(w / ratio[0]), 1.0, h);
  if (w / h > ratio[1]) w = std::clamp(std::nearbyint(h * ratio[1]), 1.0, w);
  return {std::floor((width - w) / 2), std::floor((height - h) / 2), w, h};
}

}  // namespace flowtrain
