#pragma once
// Validation metrics: sums over batches, exact over uneven sizes.

#include <string>
#include <utility>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// What a metric gives.
enum class MetricForm {
  scalar,         ///< one value
  of_each_class,  ///< one for each class; NaN where no label is of the class
  class_pairs     ///< how many of each class (row) were taken for each class (column): K² counts, row by row
};

/// What a metric compares: an output of the net, and a field of the batch.
struct MetricInputs {
  std::string output = "logits", field = "label";
};

/// Collects over batches, then gives metrics. One thread.
class Metric {
 public:
  virtual ~Metric() = default;
  virtual MetricInputs inputs() const { return {}; }
  virtual MetricForm form() const { return MetricForm::scalar; }
  /// Whether there are totals of each class: before the first batch, which tells how many, there are none.
  virtual bool by_class() const { return false; }
  /// Adds the rows of one batch. `logits` (B, K, …) f32 go with `label` (B, …) integer, `prediction` (B, T) with
  /// `target` (B, U), both integer. What has a negative label does not count; a negative value ends a sequence. Waits
  /// for the device where sequences are compared, else not. Throws std::invalid_argument for shapes that do not fit.
  virtual void update(const NamedTensors& outputs, const NamedTensors& batch) = 0;
  /// What the metrics are made of, over all batches since reset(): sums, which add up over processes. Waits for the
  /// device.
  virtual std::vector<double> totals() const = 0;
  /// The metrics that totals give, as form() says. Of nothing: 0; NaN where that would be the best.
  virtual std::vector<double> scalars(const std::vector<double>& totals) const = 0;
  /// The first of them.
  double value() const { return scalars(totals()).at(0); }
  virtual void reset() = 0;
};

}  // namespace flowtrain::nets
