#pragma once
// Validation metrics: sums over batches, exact over uneven sizes.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// The form of a metric's values.
enum class MetricForm {
  scalar,         ///< one value
  of_each_class,  ///< one for each class; NaN for a class without labels
  class_pairs     ///< counts of each class (row) that was predicted as each class (column): K² counts, row by row
};

/// The names that a metric compares: an output of the net, and a field of the batch.
struct MetricInputs {
  std::string output = "logits", field = "label";
  std::size_t axes = 0;  ///< least number of axes that a row of the field has
};

/// Collects sums over batches, then computes metrics. One thread.
class Metric {
 public:
  virtual ~Metric() = default;
  /// Returns the pairs that it can compare; update() takes the first one whose tensors it gets.
  virtual std::vector<MetricInputs> inputs() const { return {{}}; }
  virtual MetricForm form() const { return MetricForm::scalar; }
  /// Returns whether it has totals for each class; the first batch sets the number of classes.
  virtual bool by_class() const { return false; }
  /// Adds the rows of one batch. `logits` (B, K, …) f32 go with `label` (B, …) integer, `prediction` (B, T) with
  /// `target` (B, U), both integer. Negative labels do not count; a negative value ends a sequence. Only metrics of
  /// sequences wait for the device. Throws std::invalid_argument for shapes that do not fit, and for a missing tensor.
  virtual void update(const NamedTensors& outputs, const NamedTensors& batch) = 0;
  /// Returns the sums over all batches since reset(); sums of processes can be added up. Waits for the device.
  virtual std::vector<double> totals() const = 0;
  /// Computes the metrics from totals, in the form of form(). Without rows they are 0, or NaN if 0 is the best.
  virtual std::vector<double> scalars(const std::vector<double>& totals) const = 0;
  /// Returns the first metric.
  double value() const { return scalars(totals()).at(0); }
  virtual void reset() = 0;
};

}  // namespace flowtrain::nets
