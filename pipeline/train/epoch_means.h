#pragma once
// Means over the epoch under way: the epoch lines of metrics.jsonl.

#include <map>
#include <string>

#include "pipeline/train/run_state.h"
#include "stages/validator.h"

namespace flowtrain {

/// Adds up the figures of iterations in the run's state, so that a resumed epoch has the same means. A figure that is
/// not finite, or was not read, does not count.
class EpochMeans {
 public:
  explicit EpochMeans(RunState& state) : sums_(state.epoch_sums) {}

  void add(const std::string& name, double value);
  /// Adds all of `figures` but learning rates ("lr.…"), of which a mean says nothing.
  void add(const Figures& figures);
  /// The means, by name; the next epoch begins.
  Figures take();

 private:
  std::map<std::string, FigureSum>& sums_;
};

}  // namespace flowtrain
