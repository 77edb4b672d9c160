#include "sampling/tokens/next_token.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "sampling/core/random.h"

namespace flowtrain {
namespace {

void check(std::span<const float> logits) {
  const bool has_nan = std::ranges::any_of(logits, [](float logit) { return std::isnan(logit); });
  if (logits.empty() || has_nan || !std::isfinite(*std::ranges::max_element(logits)))
    throw std::invalid_argument("the logits of the next token are not finite");
}

/// Returns an id, drawn with these probabilities, whose sum need not be 1.
std::int64_t draw(std::span<const double> probabilities, Stream stream) {
  double left = stream.uniform() * std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
  std::size_t last = 0;  // rounding may leave something behind the last one
  for (std::size_t id = 0; id < probabilities.size(); ++id) {
    if (probabilities[id] <= 0) continue;
    last = id;
    left -= probabilities[id];
    if (left < 0) break;
  }
  return static_cast<std::int64_t>(last);
}

}  // namespace

std::vector<double> softmax(std::span<const float> logits, double temperature) {
  check(logits);
  const double greatest = *std::ranges::max_element(logits);
  std::vector<double> probabilities;
  probabilities.reserve(logits.size());
  for (const float logit : logits) probabilities.push_back(std::exp((logit - greatest) / temperature));
  const double sum = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
  for (double& each : probabilities) each /= sum;
  return probabilities;
}

void keep_top_k(std::span<double> probabilities, std::int64_t k) {
  if (k >= static_cast<std::int64_t>(probabilities.size())) return;
  std::vector<double> sorted(probabilities.begin(), probabilities.end());
  std::nth_element(sorted.begin(), sorted.begin() + (k - 1), sorted.end(), std::greater());
  const double least = sorted[static_cast<std::size_t>(k - 1)];
  for (double& each : probabilities)
    if (each < least) each = 0;
}

void keep_top_p(std::span<double> probabilities, double p) {
  std::vector<std::size_t> ids(probabilities.size());
  std::iota(ids.begin(), ids.end(), std::size_t{0});
  std::ranges::stable_sort(ids, std::greater(), [&](std::size_t id) { return probabilities[id]; });
  const double wanted = p * std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
  double sum = 0;
  for (const std::size_t id : ids) {
    const double own = probabilities[id];
    if (sum >= wanted) probabilities[id] = 0;
    sum += own;
  }
}

void keep_min_p(std::span<double> probabilities, double p) {
  const double least = p * *std::ranges::max_element(probabilities);
  for (double& each : probabilities)
    if (each < least) each = 0;
}

std::int64_t most_likely(std::span<const float> logits) {
  check(logits);
  return std::ranges::max_element(logits) - logits.begin();
}

std::int64_t choose_token(std::span<const float> logits, const TokenChoice& choice, std::uint64_t seed,
                          std::uint32_t text, std::uint32_t token) {
  if (choice.temperature <= 0) return most_likely(logits);
  std::vector<double> probabilities = softmax(logits, choice.temperature);
  if (choice.top_k > 0) keep_top_k(probabilities, choice.top_k);
  if (choice.top_p < 1) keep_top_p(probabilities, choice.top_p);
  if (choice.min_p > 0) keep_min_p(probabilities, choice.min_p);
  return draw(probabilities, Stream(seed, Purpose::token, std::uint64_t{text} << 32 | token));
}

}  // namespace flowtrain
