#include "sampling/core/random.h"

#include <cmath>
#include <numbers>

namespace flowtrain {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  // Multipliers and key increments (the golden ratio and sqrt(3) - 1) of section 5.3 of the paper.
  constexpr std::uint64_t multiplier_0 = 0xD2511F53, multiplier_1 = 0xCD9E8D57;
  constexpr std::uint32_t weyl_0 = 0x9E3779B9, weyl_1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = multiplier_0 * counter[0];
    const std::uint64_t product1 = multiplier_1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
    key[0] += weyl_0;
    key[1] += weyl_1;
  }
  return counter;
}

Stream::Stream(std::uint64_t seed, Purpose purpose, std::uint64_t position)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
      counter_{0, static_cast<std::uint32_t>(purpose), static_cast<std::uint32_t>(position),
               static_cast<std::uint32_t>(position >> 32)} {}

std::uint32_t Stream::next() {
  if (used_ == 4) {
    block_ = philox(counter_, key_);
    ++counter_[0];
    used_ = 0;
  }
  return block_[used_++];
}

std::uint64_t Stream::next64() {
  const std::uint64_t low = next();
  return static_cast<std::uint64_t>(next()) << 32 | low;
}

double Stream::uniform() { return static_cast<double>(next64() >> 11) * 0x1p-53; }

std::uint64_t Stream::below(std::uint64_t n) {
  using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(next64()) * n;
  if (static_cast<std::uint64_t>(product) < n) {
    const std::uint64_t threshold = -n % n;  // 2^64 mod n: so many of the low halves would be counted once too often
    while (static_cast<std::uint64_t>(product) < threshold) product = static_cast<Wide>(next64()) * n;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double Stream::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_normal_;
  }
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));  // 1 - u lies in (0, 1]: the logarithm is finite
  const double angle = 2 * std::numbers::pi * uniform();
  spare_normal_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

}  // namespace flowtrain
