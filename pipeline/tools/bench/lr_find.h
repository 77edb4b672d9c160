#pragma once
// Runs the learning-rate range test: while the rate grows, the loss shows in which range it is useful. L. N. Smith,
// "Cyclical Learning Rates for Training Neural Networks", WACV 2017.

#include <cstdint>
#include <string>
#include <vector>

#include "stages/hooks/hook.h"

namespace flowtrain {

struct LrRange {
  double from = 1e-6, to = 1;      ///< 0 < from < to
  std::uint64_t iterations = 100;  ///< steps between the two, by equal factors; at least 10
};

/// Sets the rate of each iteration; other optimizers keep their ratio to the first. Asks the run to end once the
/// smoothed loss is not finite, or four times its least value.
class LrFinder : public Hook {
 public:
  explicit LrFinder(const LrRange& range) : range_(range) {}
  std::vector<HookEvent> events() const override { return {HookEvent::iteration_begin, HookEvent::iteration_end}; }
  void on_event(HookEvent event, HookContext& context) override;

  /// One iteration.
  struct Tried {
    double lr, loss, smooth;  ///< smooth: the exponential mean of the losses with weight 0.9 for the past, corrected
                              ///< for the start's bias
  };
  const std::vector<Tried>& tried() const { return tried_; }
  /// Returns the rate at which the loss falls fastest over the rate's logarithm, up to the least smoothed loss; 0 if it
  /// does not fall. Slopes are those of straight lines through a tenth of all steps, as single steps are noisy.
  double suggestion() const;
  /// Draws curve and suggestion for a terminal.
  std::string report() const;
  /// Returns an SVG picture of the losses and the smoothed loss over the rate's logarithm, with the suggestion.
  std::string picture() const;

 private:
  double lr(std::uint64_t iteration) const;
  std::vector<Tried>::const_iterator least() const;

  LrRange range_;
  double mean_ = 0, least_ = 0;
  std::vector<Tried> tried_;
};

}  // namespace flowtrain
