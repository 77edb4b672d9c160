#include "sampling/samplers/cornernet/draws.h"

#include <utility>

namespace flowtrain {
namespace {

constexpr std::array<JitterStep, 3> in_order{JitterStep::brightness, JitterStep::contrast, JitterStep::saturation};

}  // namespace

double StreamDraws::choice(std::span<const double> scales) { return scales[random_.below(scales.size())]; }

std::int64_t StreamDraws::integer(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(high - low)));
}

double StreamDraws::uniform() { return random_.uniform(); }

std::array<JitterStep, 3> StreamDraws::shuffle() {
  auto steps = in_order;
  for (std::size_t i = 2; i > 0; --i) std::swap(steps[i], steps[random_.below(i + 1)]);
  return steps;
}

double StreamDraws::jitter() { return random_.uniform(-0.4, 0.4); }

std::array<double, 3> StreamDraws::lighting() {
  std::array<double, 3> alpha;
  for (auto& each : alpha) each = 0.1 * random_.normal();
  return alpha;
}

std::array<JitterStep, 3> CentredDraws::shuffle() { return in_order; }

}  // namespace flowtrain
