#pragma once
// Tests whether two nets that were measured on the same samples differ by more than chance.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace flowtrain {

/// McNemar's test of two classifiers (Q. McNemar, Psychometrika 1947), exact: the two-sided probability, under a
/// binomial with probability one half, of a division of the samples that only one gets right at least as uneven as this
/// one. T. Dietterich ("Approximate Statistical Tests for Comparing Supervised Classification Learning Algorithms",
/// Neural Computation 1998) compares it with others. 1 where there are none. Equals statsmodels' mcnemar(exact=True).
double mcnemar(std::uint64_t only_a, std::uint64_t only_b);

/// The interval of a difference, by a paired bootstrap.
struct BootstrapInterval {
  double low = 0, high = 0;  ///< the middle 95 % of the differences
  /// Two-sided: twice the share of resamples on the rarer side of zero, at most 1; one more is counted on it, so that
  /// no number of resamples claims an impossibility (A. Davison and D. Hinkley, "Bootstrap Methods", 1997, (4.11)).
  double p = 1;
};

/// Draws `resamples` times as many of the `samples` as there are, with replacement, and takes the difference of B and A
/// over each draw: `difference` gets how often each sample was drawn (B. Efron and R. Tibshirani, "An Introduction to
/// the Bootstrap", 1993, chapter 13). The same seed gives the same draws. `samples` and `resamples` are above 0.
BootstrapInterval paired_bootstrap(std::size_t samples, std::size_t resamples, std::uint64_t seed,
                                   const std::function<double(std::span<const std::uint32_t>)>& difference);

}  // namespace flowtrain
