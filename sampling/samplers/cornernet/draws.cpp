#include "sampling/samplers/cornernet/draws.h"

#include <utility>
#include <vector>

#include "sampling/core/text.h"
#include "sampling/draw_notes.h"

namespace flowtrain {
namespace {

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
  auto steps = all_jitter_steps;
  for (std::size_t i = 2; i > 0; --i) std::swap(steps[i], steps[random_.below(i + 1)]);
  DrawNotes::add("order", [&] {
    static constexpr const char* names[] = {"brightness", "contrast", "saturation"};
    return join(steps, ", ", [](JitterStep step) { return names[static_cast<std::size_t>(step)]; });
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

}  // namespace flowtrain
