// The rules by which the next token of a text is drawn, against their definitions.

#include "sampling/tokens/next_token.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>

#include "sampling/core/random.h"

namespace flowtrain::next_token_test {
namespace {

using Reals = std::vector<double>;

/// Applies a rule to a copy.
template <class Rule, class Parameter>
Reals kept(Reals probabilities, const Rule& rule, Parameter parameter) {
  rule(probabilities, parameter);
  return probabilities;
}

std::vector<float> drawn_logits(std::uint64_t number, std::size_t count) {
  Stream stream(5, Purpose::sample, number);
  std::vector<float> logits;
  for (std::size_t i = 0; i < count; ++i) logits.push_back(static_cast<float>(3 * stream.normal()));
  return logits;
}

/// The ids in the order of their probabilities, of equal ones the lower first.
std::vector<std::size_t> ranked(const Reals& probabilities) {
  std::vector<std::size_t> ids(probabilities.size());
  std::iota(ids.begin(), ids.end(), std::size_t{0});
  std::ranges::sort(ids, [&](auto a, auto b) {
    return probabilities[a] != probabilities[b] ? probabilities[a] > probabilities[b] : a < b;
  });
  return ids;
}

}  // namespace

TEST_CASE("next token: the softmax is that of the logits divided by the temperature") {
  const std::vector<float> logits{0, static_cast<float>(std::log(2)), static_cast<float>(std::log(5))};
  const Reals plain = softmax(logits, 1), cold = softmax(logits, 0.5);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(plain[i] == doctest::Approx(Reals{1, 2, 5}[i] / 8));
    CHECK(cold[i] == doctest::Approx(Reals{1, 4, 25}[i] / 30));
  }
  const float none = -std::numeric_limits<float>::infinity();
  CHECK(softmax(std::vector<float>{none, 1000, none}, 2) == Reals{0, 1, 0});
}

TEST_CASE("next token: top-k keeps the k most likely tokens, and those equal to the last of them") {
  const Reals all{0.1, 0.4, 0.2, 0.2, 0.1};
  CHECK(kept(all, keep_top_k, 1) == Reals{0, 0.4, 0, 0, 0});
  CHECK(kept(all, keep_top_k, 2) == Reals{0, 0.4, 0.2, 0.2, 0});
  CHECK(kept(all, keep_top_k, 3) == Reals{0, 0.4, 0.2, 0.2, 0});
  CHECK(kept(all, keep_top_k, 5) == all);
  CHECK(kept(all, keep_top_k, 100) == all);
}

TEST_CASE("next token: top-p keeps the fewest tokens whose probabilities add up to p") {
  const Reals all{0.125, 0.5, 0.25, 0.125};
  CHECK(kept(all, keep_top_p, 0.1) == Reals{0, 0.5, 0, 0});
  CHECK(kept(all, keep_top_p, 0.5) == Reals{0, 0.5, 0, 0});
  CHECK(kept(all, keep_top_p, 0.51) == Reals{0, 0.5, 0.25, 0});
  CHECK(kept(all, keep_top_p, 0.8) == Reals{0.125, 0.5, 0.25, 0});
  CHECK(kept(all, keep_top_p, 1.0) == all);
  // Sums are shares of what earlier rules have left.
  CHECK(kept(Reals{0, 0.25, 0.125, 0}, keep_top_p, 0.6) == Reals{0, 0.25, 0, 0});
  for (std::uint64_t number = 0; number < 200; ++number) {
    const Reals before = softmax(drawn_logits(number, 40), 1);
    const double p = Stream(6, Purpose::sample, number).uniform(0.01, 0.99);
    const Reals after = kept(before, keep_top_p, p);
    double sum = 0;
    for (const std::size_t id : ranked(before)) {
      CHECK(after[id] == (sum < p ? before[id] : 0));
      sum += before[id];
    }
  }
}

TEST_CASE("next token: min-p keeps the tokens that have at least a share of the greatest probability") {
  const Reals all{0.5, 0.25, 0.05, 0.2};
  CHECK(kept(all, keep_min_p, 0.5) == Reals{0.5, 0.25, 0, 0});
  CHECK(kept(all, keep_min_p, 0.4) == Reals{0.5, 0.25, 0, 0.2});
  CHECK(kept(all, keep_min_p, 1.0) == Reals{0.5, 0, 0, 0});
  CHECK(kept(all, keep_min_p, 0.0) == all);
}

TEST_CASE("next token: without a temperature it is the most likely one, of equal ones the one of the least id") {
  const std::vector<float> logits{1, 3, 3, 2};
  CHECK(most_likely(logits) == 1);
  CHECK(choose_token(logits, {}, 7, 0, 0) == 1);
  CHECK(choose_token(logits, {.temperature = 1, .top_k = 1}, 7, 0, 0) <= 2);
}

TEST_CASE("next token: draws come as often as their probabilities say, and never a token that a rule excludes") {
  const std::vector<float> logits{0, static_cast<float>(std::log(3)), static_cast<float>(std::log(6)), -20};
  constexpr std::uint32_t draws = 20'000;
  std::map<std::int64_t, double> all, some;
  for (std::uint32_t token = 0; token < draws; ++token) {
    all[choose_token(logits, {.temperature = 1}, 3, 1, token)] += 1;
    some[choose_token(logits, {.temperature = 1, .top_k = 3, .min_p = 0.3}, 3, 2, token)] += 1;
  }
  // Three standard deviations are 0.01.
  CHECK(std::abs(all[0] / draws - 0.1) < 0.01);
  CHECK(std::abs(all[1] / draws - 0.3) < 0.01);
  CHECK(std::abs(all[2] / draws - 0.6) < 0.011);
  CHECK(some.size() == 2);
  CHECK(std::abs(some[1] / draws - 1 / 3.0) < 0.011);
}

TEST_CASE("next token: a draw depends on the seed and the numbers of text and token alone") {
  const auto logits = drawn_logits(1, 500);
  const TokenChoice choice{.temperature = 2};
  std::vector<std::int64_t> chosen;
  for (std::uint64_t seed : {1, 2})
    for (std::uint32_t text : {0, 1})
      for (std::uint32_t token : {0, 1}) {
        chosen.push_back(choose_token(logits, choice, seed, text, token));
        CHECK(chosen.back() == choose_token(logits, choice, seed, text, token));
      }
  std::ranges::sort(chosen);
  CHECK(std::ranges::unique(chosen).size() <= 2);  // most differ
}

TEST_CASE("next token: logits that are not finite are refused") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  for (const auto& logits : {std::vector<float>{1, nan}, {infinity, 1}, {-infinity, -infinity}, {}}) {
    CHECK_THROWS_AS(most_likely(logits), std::invalid_argument);
    CHECK_THROWS_AS(softmax(logits, 1), std::invalid_argument);
  }
}

}  // namespace flowtrain::next_token_test
