#pragma once
// Predictions of classes and of texts. This file needs no torch; the LibTorch learner is in stages/torch/.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stages/loader/slab.h"

namespace flowtrain {

/// The outputs of a classifier for a batch. Of a net that classifies rows these are the logits, before softmax; of one
/// that classifies tokens, whose logits are too many, what people ask of them; of a net with a decoder its texts.
struct Logits {
  std::size_t classes = 0;
  std::vector<float> values = {};  ///< (rows, classes), in the batch's order; empty for tokens
  std::size_t length = 0;          ///< tokens of a row; 0: rows are classified
  // (rows, length):
  std::vector<std::int64_t> best = {};  ///< class with the greatest logit
  std::vector<double> scores = {};      ///< softmax probability of that class
  std::vector<double> label_logs = {};  ///< natural logarithm of the label's probability; NaN where there is no label
  std::vector<std::string> texts = {};  ///< one for each row of a net with a decoder, which has no classes
};

/// A Learner (stages/model/compute.h) may be one of these, too.
class ClassPredictor {
 public:
  virtual ~ClassPredictor() = default;
  /// Returns the same logits, bit for bit, that validate() measures for this batch, or what is asked of those (rows,
  /// classes, length) of tokens. Called between begin_validation() and end_validation(). Throws UserError(usage) if the
  /// net gives no `logits` of these shapes.
  virtual Logits predict(Slab& slab) = 0;
};

}  // namespace flowtrain
