#pragma once
// A validation measures loss and metrics of a net over batches, and gives the net's detector.

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
#include "stages/decoding/ctc_decoder.h"
#include "stages/detection/detector.h"
#include "stages/model/class_predictor.h"
#include "stages/model/learner_spec.h"
#include "stages/torch/batch.h"
#include "stages/torch/validation/row_reader.h"
#include "stages/torch/validation/validation_metrics.h"

namespace flowtrain {

/// Measures a net that is in eval mode. One thread at a time calls it.
class NetValidator {
 public:
  /// `net` and `step` outlive it. Throws UserError(usage) for metrics that do not fit the net or the batches.
  NetValidator(const LearnerSpec& spec, const std::shared_ptr<nets::Net>& net, nets::Step& step);

  /// Sets all sums to zero.
  void begin();
  void add(Slab& slab) { static_cast<void>(measure(slab, nullptr)); }
  /// See Validator::validate_rows.
  RowResults add_rows(Slab& slab, std::span<const std::size_t> shown);
  /// See ClassPredictor.
  Logits predict(Slab& slab);
  /// Returns the means over all rows since begin(), of all processes, the loss first. A collective.
  Scalars end(Group& group);
  /// See Validator.
  Detector* detector();
  const ClassTable* confusion() const { return metrics_.confusion(); }

 private:
  RowResults measure(Slab& slab, RowReader* rows);
  nets::Step::Evaluated evaluate(const nets::NamedTensors& batch, bool with_loss = true);
  Logits written(Slab& slab, const at::Tensor& prediction) const;
  void add_metric(const std::string& name, const LearnerSpec& spec);
  /// Sets make_detector_ if the net gives what its detector reads.
  void choose_detector(const LearnerSpec& spec, nets::Net& net);
  /// Sets decoder_ if [decode] names one.
  void choose_decoder(const LearnerSpec& spec);
  void check_finds_objects(const std::string& metric) const;

  const ValKeys val_;
  std::unique_ptr<nets::Net> flipping_;    // null without val.flip
  std::unique_ptr<nets::Step> flip_step_;  // null without val.flip
  nets::Step& step_;
  const at::Device where_;
  const std::optional<at::ScalarType> amp_;  // val.amp
  ValidationMetrics metrics_;
  std::function<std::unique_ptr<Detector>()> make_detector_;  // null: the net finds no objects
  std::string no_detector_;                                   // the reason why the named detector cannot be used
  const Settings* decode_ = nullptr;                          // [decode], if there is a decoder
  std::optional<CtcDecoder> decoder_;                         // makes `prediction` of `logits`
  std::shared_ptr<const Tokenizer> tokenizer_;                // reads the field `label`; may be null
  std::unique_ptr<Detector> detector_;                        // made when it is first asked for
  std::optional<BatchAdapter> batch_;                         // empty without validation
  std::int64_t least_rows_ = 0;                               // a batch to predict has as many or more
  std::vector<LossSum> losses_;                               // several if they count terms of their own
};

/// Returns the key of a validation's draws: all validations have the same, and each rank_of_draws() another one.
std::uint64_t validation_seed(const LearnerSpec& spec);

}  // namespace flowtrain
