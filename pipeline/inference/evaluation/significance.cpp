#include "pipeline/inference/evaluation/significance.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sampling/core/random.h"

namespace flowtrain {

double mcnemar(std::uint64_t only_a, std::uint64_t only_b) {
  const std::uint64_t all = only_a + only_b, fewer = std::min(only_a, only_b);
  if (2 * fewer == all) return 1;
  const auto log_factorial = [](std::uint64_t n) { return std::lgamma(static_cast<double>(n) + 1); };
  double tail = 0;
  for (std::uint64_t k = 0; k <= fewer; ++k)
    tail += std::exp(log_factorial(all) - log_factorial(k) - log_factorial(all - k) -
                     static_cast<double>(all) * std::log(2.0));
  return std::min(1.0, 2 * tail);
}

BootstrapInterval paired_bootstrap(std::size_t samples, std::size_t resamples, std::uint64_t seed,
                                   const std::function<double(std::span<const std::uint32_t>)>& difference) {
  std::vector<double> differences;
  std::vector<std::uint32_t> drawn(samples);
  for (std::size_t round = 0; round < resamples; ++round) {
    std::ranges::fill(drawn, 0);
    for (std::size_t i = 0; i < samples; ++i) ++drawn[mix64(seed ^ mix64(round * samples + i)) % samples];
    differences.push_back(difference(drawn));
  }
  std::ranges::sort(differences);
  const auto at = [&](double share) {
    return differences[static_cast<std::size_t>(share * static_cast<double>(resamples - 1) + 0.5)];
  };
  const auto below = std::ranges::count_if(differences, [](double value) { return value <= 0; });
  const auto above = std::ranges::count_if(differences, [](double value) { return value >= 0; });
  return {at(0.025), at(0.975),
          std::min(1.0, 2.0 * static_cast<double>(std::min(below, above) + 1) / static_cast<double>(resamples + 1))};
}

}  // namespace flowtrain
