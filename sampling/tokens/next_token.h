#pragma once
// Chooses the next token of a text by the logits of a language model.

#include <cstdint>
#include <span>
#include <vector>

namespace flowtrain {

/// The rules by which the next token is chosen. They apply in this order, as in transformers.
struct TokenChoice {
  double temperature = 0;  ///< the divisor of the logits; 0: the most likely token, of equal ones the least id
  std::int64_t top_k = 0;  ///< the number of most likely tokens to draw from; 0: all
  double top_p = 1;        ///< the sum of probabilities of the most likely tokens to draw from, above 0
  double min_p = 0;        ///< the least probability to draw, as a share of the greatest one
};

/// Returns the softmax of the logits, divided by the temperature (above 0). Throws std::invalid_argument unless the
/// greatest logit is finite and none is NaN; those of minus infinity get 0.
std::vector<double> softmax(std::span<const float> logits, double temperature);

/// Set all probabilities to 0 except those of the k (from 1 on) greatest, and of all that equal the last of them.
/// A. Fan et al., "Hierarchical Neural Story Generation", ACL 2018.
void keep_top_k(std::span<double> probabilities, std::int64_t k);
/// Sets all probabilities to 0 except those of the fewest tokens, the greatest first and of equal ones those of lower
/// ids, whose sum is at least `p` of all. A. Holtzman et al., "The Curious Case of Neural Text Degeneration", ICLR
/// 2020.
void keep_top_p(std::span<double> probabilities, double p);
/// Sets the probabilities below `p` times the greatest one to 0. M. Nguyen et al., "Turning Up the Heat: Min-p Sampling
/// for Creative and Coherent LLM Outputs", 2024.
void keep_min_p(std::span<double> probabilities, double p);

/// Returns the id with the greatest logit, of equal ones the least. Throws as softmax() does.
std::int64_t most_likely(std::span<const float> logits);

/// Chooses the token of that number, from 0, of the text of that number. A draw depends on the seed and on these two
/// numbers alone. Throws as softmax() does.
std::int64_t choose_token(std::span<const float> logits, const TokenChoice& choice, std::uint64_t seed,
                          std::uint32_t text, std::uint32_t token);

}  // namespace flowtrain
