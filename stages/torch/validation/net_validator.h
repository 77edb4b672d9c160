#pragma once
// What a validation does with a net: loss and metrics over its batches.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nets/net.h"
#include "nets/steps/step.h"
#include "sampling/core/settings.h"
#include "stages/detection/detector.h"
#include "stages/model/class_predictor.h"
#include "stages/model/learner_spec.h"
#include "stages/torch/batch.h"
#include "stages/torch/validation/row_reader.h"
#include "stages/torch/validation/validation_metrics.h"

namespace flowtrain {

/// Measures a net that is in eval mode. One thread at a time.
class NetValidator {
 public:
  /// `net` and `step` outlive it. Throws UserError(usage) for metrics that do not fit the net or the batches.
  NetValidator(const LearnerSpec& spec, const std::shared_ptr<nets::Net>& net, nets::Step& step);

  /// Sums at zero.
  void begin();
  void add(Slab& slab) { static_cast<void>(measure(slab, nullptr)); }
  /// See Validator::validate_rows.
  RowResults add_rows(Slab& slab, std::span<const std::size_t> shown);
  /// See ClassPredictor.
  Logits predict(Slab& slab);
  /// Means over all rows since begin(), of all processes, the loss first. A collective.
  Scalars end(Group& group);
  /// See Validator.
  Detector* detector();
  const ClassTable* confusion() const { return metrics_.confusion(); }

 private:
  RowResults measure(Slab& slab, RowReader* rows);
  nets::Step::Evaluated evaluate(const nets::NamedTensors& batch);
  void add_metric(const std::string& name, const LearnerSpec& spec);
  void check_finds_objects(const std::string& metric) const;

  const ValKeys val_;
  std::unique_ptr<nets::Net> flipping_;    // null without val.flip
  std::unique_ptr<nets::Step> flip_step_;  // likewise
  nets::Step& step_;
  const at::Device where_;
  const std::optional<at::ScalarType> amp_;  // val.amp
  ValidationMetrics metrics_;
  std::function<std::unique_ptr<Detector>()> make_detector_;  // null: the net finds no objects
  std::unique_ptr<Detector> detector_;                        // once it was asked for
  std::optional<BatchAdapter> batch_;                         // nothing without validation
  std::int64_t least_rows_ = 0;                               // of a batch that is predicted
  double loss_ = 0, rows_ = 0;
};

/// A validation's draws are keyed by this: the same in each, and another for each rank_of_draws().
std::uint64_t validation_seed(const LearnerSpec& spec);

}  // namespace flowtrain
