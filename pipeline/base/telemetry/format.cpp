#include "pipeline/base/telemetry/format.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace flowtrain {

std::string format_duration(double duration_s) {
  if (!std::isfinite(duration_s) || duration_s < 0 || duration_s > 1e15) return "?";
  auto s = std::llround(duration_s);
  if (s < 60) return printed("%llds", s);
  if (s < 3600) return printed("%lldm%02llds", s / 60, s % 60);
  if (s < 86400) return printed("%lldh%02lldm", s / 3600, s % 3600 / 60);
  return printed("%lldd%02lldh", s / 86400, s % 86400 / 3600);
}

std::string format_count(std::uint64_t count) {
  auto text = std::to_string(count);
  for (std::size_t place = text.size(); place > 3;) text.insert(place -= 3, ",");
  return text;
}

std::string format_loss(double loss) {
  if (std::isnan(loss)) return "nan";  // printf would show the sign, which means nothing
  auto magnitude = std::abs(loss);
  bool plain = magnitude == 0 || (magnitude >= 1e-3 && magnitude < 1e3);
  return printed(plain || !std::isfinite(loss) ? "%.4f" : "%.3e", loss);
}

std::string format_rate(double rate) { return printed("%.4g", rate); }

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < 1000) return printed("%d B", static_cast<int>(bytes));
  auto value = static_cast<double>(bytes) / 1000;
  const char* unit = "kB";
  for (const char* next : {"MB", "GB", "TB", "PB"}) {
    if (value < 999.5) break;
    value /= 1000;
    unit = next;
  }
  return printed("%.3g %s", value, unit);
}

std::string plot(std::span<const double> values, unsigned rows, unsigned indent, bool from_zero) {
  constexpr int eighths = 8;
  constexpr std::array<const char*, eighths + 1> blocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double least = from_zero ? std::min(0.0, *low) : *low, span = *high > least ? *high - least : 1;
  std::string text;
  for (unsigned row = rows; row-- > 0;) {
    const std::string label = row + 1 == rows ? format_rate(*high) : row == 0 ? format_rate(least) : "";
    text += printed("%*s%10s │", static_cast<int>(indent), "", label.c_str());
    for (const double value : values) {
      const auto height = static_cast<int>(std::lround((value - least) / span * rows * eighths));
      text += blocks[static_cast<std::size_t>(std::clamp(height - static_cast<int>(row) * eighths, 0, eighths))];
    }
    text += "\n";
  }
  return text;
}

}  // namespace flowtrain
