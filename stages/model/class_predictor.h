#pragma once
// Predictions of classes and of texts. This file needs no torch; the LibTorch learner is in stages/torch/.

#include <cstddef>
#include <string>
#include <vector>

#include "stages/loader/slab.h"

namespace flowtrain {

/// The outputs of a classifier for a batch, before softmax, or the texts that a net with a decoder writes.
struct Logits {
  std::size_t classes = 0;
  std::vector<float> values;       ///< (rows, classes), in the batch's order
  std::vector<std::string> texts;  ///< one for each row of a net with a decoder, which has no classes
};

/// A Learner (stages/model/compute.h) may be one of these, too.
class ClassPredictor {
 public:
  virtual ~ClassPredictor() = default;
  /// Returns the same logits, bit for bit, that validate() measures for this batch. Called between begin_validation()
  /// and end_validation(). Throws UserError(usage) if the net gives no `logits` of that shape.
  virtual Logits predict(Slab& slab) = 0;
};

}  // namespace flowtrain
