#pragma once
// Lengths of records as they are drawn for tests and benchmarks of plans.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sampling/core/random.h"

namespace flowtrain {

/// Returns `records` lengths of a lognormal distribution with this mean, and this deviation of the logarithm: about the
/// lengths of texts.
inline std::vector<std::uint32_t> lognormal_lengths(std::uint64_t records, double mean = 200, double sigma = 1,
                                                    std::uint64_t seed = 1) {
  Stream random(seed, Purpose::dataset, 0);
  std::vector<std::uint32_t> lengths(records);
  for (auto& length : lengths) {
    const double drawn = mean * std::exp(sigma * random.normal() - sigma * sigma / 2);
    length = static_cast<std::uint32_t>(std::max(1.0, std::round(drawn)));
  }
  return lengths;
}

/// Returns `records` lengths, each from `least` to `most` equally likely.
inline std::vector<std::uint32_t> uniform_lengths(std::uint64_t records, std::uint32_t least, std::uint32_t most,
                                                  std::uint64_t seed = 1) {
  Stream random(seed, Purpose::dataset, 0);
  std::vector<std::uint32_t> lengths(records);
  for (auto& length : lengths) length = least + static_cast<std::uint32_t>(random.below(most - least + 1));
  return lengths;
}

/// Sizes of small sets, among them those around powers of two.
inline const std::vector<std::uint64_t> set_sizes{1, 2, 3, 7, 8, 9, 31, 32, 33, 127, 128, 129, 1000, 1023, 1024, 1025};

/// Returns sets of `records` lengths that are unlike each other: all equal, drawn, with zeros, with one giant, falling.
inline std::vector<std::vector<std::uint32_t>> sets_of_lengths(std::uint64_t records) {
  auto with_giant = uniform_lengths(records, 1, 20), falling = with_giant;
  with_giant[records / 2] = 3'000'000'000;
  for (std::uint64_t i = 0; i < records; ++i) falling[i] = static_cast<std::uint32_t>(records - i);
  return {std::vector<std::uint32_t>(records, 7),
          std::vector<std::uint32_t>(records, 0),
          lognormal_lengths(records, 50),
          uniform_lengths(records, 0, 3),
          with_giant,
          falling};
}

}  // namespace flowtrain
