#include "pipeline/telemetry/format.h"

#include <cmath>
#include <cstdio>

namespace flowtrain {
namespace {

template <class... Values>
std::string print(const char* format, Values... values) {
  char text[64];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

}  // namespace

std::string format_duration(double duration_s) {
  if (!std::isfinite(duration_s) || duration_s < 0 || duration_s > 1e15) return "?";
  auto s = std::llround(duration_s);
  if (s < 60) return print("%llds", s);
  if (s < 3600) return print("%lldm%02llds", s / 60, s % 60);
  if (s < 86400) return print("%lldh%02lldm", s / 3600, s % 3600 / 60);
  return print("%lldd%02lldh", s / 86400, s % 86400 / 3600);
}

std::string format_count(std::uint64_t count) {
  auto digits = std::to_string(count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string format_loss(double loss) {
  if (std::isnan(loss)) return "nan";  // printf shows the sign, which means nothing
  auto magnitude = std::abs(loss);
  bool plain = magnitude == 0 || (magnitude >= 1e-3 && magnitude < 1e3);
  return print(plain || !std::isfinite(loss) ? "%.4f" : "%.3e", loss);
}

std::string format_rate(double rate) { return print("%.4g", rate); }

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < 1000) return print("%d B", static_cast<int>(bytes));
  auto value = static_cast<double>(bytes) / 1000;
  const char* unit = "kB";
  for (const char* next : {"MB", "GB", "TB", "PB"}) {
    if (value < 999.5) break;
    value /= 1000;
    unit = next;
  }
  return print("%.3g %s", value, unit);
}

}  // namespace flowtrain
