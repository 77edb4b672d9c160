#include "sampling/samplers/cornernet/draws.h"

#include <string>
#include <utility>
#include <vector>

#include "sampling/draw_notes.h"

namespace flowtrain {
namespace {

constexpr std::array<JitterStep, 3> in_order{JitterStep::brightness, JitterStep::contrast, JitterStep::saturation};

double noted(const char* name, double value) {
  DrawNotes::add(name, [&] { return std::vector{value}; });
  return value;
}

}  // namespace

double StreamDraws::choice(std::span<const double> scales) {
  return noted("scale", scales[random_.below(scales.size())]);
}

std::int64_t StreamDraws::integer(std::int64_t low, std::int64_t high) {
  const auto number = low + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(high - low)));
  noted("number", static_cast<double>(number));
  return number;
}

double StreamDraws::uniform() { return noted("share", random_.uniform()); }

std::array<JitterStep, 3> StreamDraws::shuffle() {
  auto steps = in_order;
  for (std::size_t i = 2; i > 0; --i) std::swap(steps[i], steps[random_.below(i + 1)]);
  DrawNotes::add("order", [&] {
    std::string names;
    for (auto step : steps)
      names += std::string(names.empty() ? "" : ", ") + (step == JitterStep::brightness ? "brightness"
                                                         : step == JitterStep::contrast ? "contrast"
                                                                                        : "saturation");
    return names;
  });
  return steps;
}

double StreamDraws::jitter() { return noted("jitter", random_.uniform(-0.4, 0.4)); }

std::array<double, 3> StreamDraws::lighting() {
  std::array<double, 3> alpha;
  for (auto& each : alpha) each = 0.1 * random_.normal();
  DrawNotes::add("lighting", [&] { return std::vector(alpha.begin(), alpha.end()); });
  return alpha;
}

std::array<JitterStep, 3> CentredDraws::shuffle() { return in_order; }

}  // namespace flowtrain
