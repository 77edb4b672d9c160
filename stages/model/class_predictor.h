#pragma once
// Predictions of classes. No torch here; the LibTorch learner is in stages/torch/.

#include <cstddef>
#include <vector>

#include "stages/loader/slab.h"

namespace flowtrain {

/// What a classifier gives for a batch, before softmax.
struct Logits {
  std::size_t classes = 0;
  std::vector<float> values;  ///< (rows, classes), in the batch's order
};

/// A Learner (stages/model/compute.h) may be one of these, too.
class ClassPredictor {
 public:
  virtual ~ClassPredictor() = default;
  /// The same logits, bit for bit, that validate() measures for this batch. From begin_validation() to
  /// end_validation(). Throws UserError(usage) where the net gives no `logits` of that shape.
  virtual Logits predict(Slab& slab) = 0;
};

}  // namespace flowtrain
