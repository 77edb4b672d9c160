#include "stages/detection/draw.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace flowtrain {
namespace {

using Color = std::array<float, 3>;

/// Returns hues that are far apart for neighbouring classes: steps of the golden ratio around the circle.
Color color_of(int category) {
  const float hue = std::fmod(0.61803399F * static_cast<float>(category), 1.0F) * 6;
  const auto channel = [hue](float centre) {
    const float distance = std::abs(hue - centre), around = std::min(distance, 6 - distance);
    return 255 * std::clamp(2 - around, 0.0F, 1.0F);
  };
  return {channel(0), channel(2), channel(4)};
}

class Canvas {
 public:
  Canvas(std::uint8_t* rgb, int height, int width) : rgb_(rgb), height_(height), width_(width) {}

  /// Blends over the pixels x0 … x1, y0 … y1, ends included; what is outside of the picture is left out.
  void fill(int x0, int y0, int x1, int y1, const Color& color, float weight) {
    for (int y = std::max(y0, 0); y <= std::min(y1, height_ - 1); ++y)
      for (int x = std::max(x0, 0); x <= std::min(x1, width_ - 1); ++x) {
        std::uint8_t* pixel = rgb_ + 3 * (static_cast<std::ptrdiff_t>(y) * width_ + x);
        for (std::size_t c = 0; c < 3; ++c)
          pixel[c] =
              static_cast<std::uint8_t>(std::lround((1 - weight) * static_cast<float>(pixel[c]) + weight * color[c]));
      }
  }

  void frame(int x0, int y0, int x1, int y1, const Color& color, float weight) {
    fill(x0, y0, x1, y0, color, weight);
    fill(x0, y1, x1, y1, color, weight);
    fill(x0, y0 + 1, x0, y1 - 1, color, weight);
    fill(x1, y0 + 1, x1, y1 - 1, color, weight);
  }

 private:
  std::uint8_t* rgb_;
  int height_, width_;
};

/// Rounds a coordinate, which may be anything.
int pixel_of(float value) { return static_cast<int>(std::lround(std::clamp(value, -1e6F, 1e6F))); }

}  // namespace

void draw_boxes(std::uint8_t* rgb, int height, int width, std::span<const Box> annotated,
                std::span<const Detection> found, float least) {
  constexpr Color white{255, 255, 255};
  Canvas canvas(rgb, height, width);
  for (auto& box : annotated)
    canvas.frame(pixel_of(box.x0), pixel_of(box.y0), pixel_of(box.x1) - 1, pixel_of(box.y1) - 1, white, 0.8F);
  const int mark = std::max(1, std::min(height, width) / 100);  // half a side
  for (auto& box : found) {
    if (!(box.score >= least)) continue;
    const Color color = color_of(box.category);
    const float weight = 0.3F + 0.7F * std::clamp(box.score, 0.0F, 1.0F);
    const int x0 = pixel_of(box.x0), y0 = pixel_of(box.y0), x1 = pixel_of(box.x1), y1 = pixel_of(box.y1);
    canvas.frame(x0, y0, x1, y1, color, weight);
    canvas.fill(x0 - mark, y0 - mark, x0 + mark, y0 + mark, color, weight);
    canvas.fill(x1 - mark, y1 - mark, x1 + mark, y1 + mark, color, weight);
  }
}

}  // namespace flowtrain
