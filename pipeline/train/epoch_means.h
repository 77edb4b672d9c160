#pragma once
// Means over the epoch under way: the epoch lines of metrics.jsonl.

#include <map>
#include <string>

#include "pipeline/train/run_state.h"
#include "stages/validator.h"

namespace flowtrain {

/// Adds up the metrics of iterations in the run's state, so that a resumed epoch has the same means. A metric that is
/// not finite, or was not read, does not count.
class EpochMeans {
 public:
  explicit EpochMeans(RunState& state) : sums_(state.epoch_sums) {}

  void add(const std::string& name, double value);
  /// Adds all of `metrics` but learning rates ("lr.…"), of which a mean says nothing.
  void add(const Scalars& scalars);
  void begin_epoch() { sums_.clear(); }

 private:
  std::map<std::string, ScalarSum>& sums_;
};

/// Means over the last epoch that began, as far as it has come, by name.
Scalars epoch_means(const RunState& state);

}  // namespace flowtrain
