#include "pipeline/telemetry/plot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "pipeline/telemetry/format.h"

namespace flowtrain {
namespace {

constexpr int eighths = 8;
constexpr std::array<const char*, eighths + 1> blocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::size_t label_width = 10;

}  // namespace

std::string plot(std::span<const double> values, unsigned rows, unsigned indent, bool from_zero) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double least = from_zero ? std::min(0.0, *low) : *low, span = *high > least ? *high - least : 1;
  std::string text;
  for (unsigned row = rows; row-- > 0;) {
    std::string label = row + 1 == rows ? format_rate(*high) : row == 0 ? format_rate(least) : "";
    text +=
        std::string(indent, ' ') + std::string(label_width - std::min(label_width, label.size()), ' ') + label + " │";
    for (const double value : values) {
      const auto height = static_cast<int>(std::lround((value - least) / span * rows * eighths));
      text += blocks[static_cast<std::size_t>(std::clamp(height - static_cast<int>(row) * eighths, 0, eighths))];
    }
    text += "\n";
  }
  return text;
}

}  // namespace flowtrain
