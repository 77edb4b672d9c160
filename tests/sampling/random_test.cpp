#include "sampling/core/random.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <vector>

namespace flowtrain::random_test {

TEST_CASE("philox gives the known answers of Random123") {
  using Block = std::array<std::uint32_t, 4>;
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a stream is a pure function of seed, purpose and position") {
  const std::uint64_t seed = 0x123456789abcdef0, position = 0xfedcba9876543210;
  Stream stream(seed, Purpose::sample, position);
  for (std::uint32_t block = 0; block < 3; ++block)
    for (const auto expected : philox({block, 2, 0x76543210, 0xfedcba98}, {0x9abcdef0, 0x12345678}))
      CHECK(stream.next() == expected);
}

TEST_CASE("streams that differ in one thing share no numbers") {
  std::set<std::uint64_t> first;
  for (const std::uint64_t seed : {0ULL, 1ULL, 1ULL << 32})
    for (const auto purpose : {Purpose::order, Purpose::sample, Purpose::dataset})
      for (const std::uint64_t position : {0ULL, 1ULL, 1ULL << 32, ~0ULL})
        first.insert(Stream(seed, purpose, position).next64());
  CHECK(first.size() == 3 * 3 * 4);
}

TEST_CASE("uniform numbers lie in [0, 1) with the right mean and variance") {
  Stream stream(7, Purpose::sample, 0);
  const int n = 100'000;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = stream.uniform();
    REQUIRE(x >= 0);
    REQUIRE(x < 1);
    sum += x;
    squares += x * x;
  }
  CHECK(sum / n == doctest::Approx(0.5).epsilon(0.01));
  CHECK(squares / n == doctest::Approx(1.0 / 3).epsilon(0.01));
}

TEST_CASE("below(n) is uniform and stays below n") {
  Stream stream(7, Purpose::sample, 1);
  CHECK(stream.below(1) == 0);
  std::vector<int> counts(7);
  for (int i = 0; i < 70'000; ++i) ++counts[stream.below(7)];
  double chi_square = 0;
  for (const int count : counts) chi_square += (count - 10'000.0) * (count - 10'000.0) / 10'000.0;
  CHECK(chi_square < 22.5);  // 6 degrees of freedom: exceeded once in 1000

  // Just above half of the range nearly every second draw has to be rejected.
  const std::uint64_t large = (1ULL << 63) + 1;
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const auto x = stream.below(large);
    REQUIRE(x < large);
    sum += static_cast<double>(x);
  }
  CHECK(sum / 10'000 / static_cast<double>(large) == doctest::Approx(0.5).epsilon(0.03));
}

TEST_CASE("normal numbers have mean 0 and variance 1, and every draw counts") {
  Stream stream(7, Purpose::sample, 2);
  const int n = 100'000;
  double sum = 0, squares = 0, fourths = 0;
  for (int i = 0; i < n; ++i) {
    const double x = stream.normal();
    REQUIRE(std::isfinite(x));
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
  }
  CHECK(std::abs(sum / n) < 0.015);
  CHECK(squares / n == doctest::Approx(1).epsilon(0.02));
  CHECK(fourths / n == doctest::Approx(3).epsilon(0.05));
}

}  // namespace flowtrain::random_test
