#pragma once
// Validation metrics: sums over batches, exact over uneven sizes.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// Collects over batches, then gives one figure. One thread.
class Metric {
 public:
  virtual ~Metric() = default;
  /// Adds the rows of one batch: `logits` (B, K) against `label` (B) i64. Does not wait for the device.
  virtual void update(const NamedTensors& outputs, const NamedTensors& batch) = 0;
  /// What the figure is made of, over all batches since reset(): sums, which add up over processes. Waits for the device.
  virtual std::vector<double> totals() const = 0;
  /// The figure that totals give; 0 before the first batch.
  virtual double value(const std::vector<double>& totals) const = 0;
  double value() const { return value(totals()); }
  virtual void reset() = 0;
};

/// accuracy (0..1), top5 (0..1; with fewer than five classes always 1); `loss` is always measured by the engine itself.
/// Throws std::invalid_argument for an unknown name.
std::unique_ptr<Metric> make_metric(const std::string& name);
/// Known names, sorted.
std::vector<std::string> metric_names();

}  // namespace flowtrain::nets
