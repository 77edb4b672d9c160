#pragma once
// What a net makes of single rows of a validation batch: for people who look at samples one by one.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sampling/codecs/image.h"
#include "stages/loader/slab.h"

namespace flowtrain {

/// Of one row, as far as the net, the loss and the batch say.
struct RowResult {
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();

  double loss = none;            ///< cross-entropy of this row's logits and label, of pixels their mean
  std::int64_t prediction = -1;  ///< the class with the largest logit
  double confidence = none;      ///< that class's probability by softmax, 0 … 1
  double pixels = none;          ///< with a label, of a net that classifies pixels
  double right_pixels = none;    ///< of them, those of the predicted class
  Image made;    ///< a picture that the net gives for the row: a generated one, or the predicted class of each pixel
  Image wanted;  ///< what `made` should be: the label of each pixel
};

/// Of a batch.
struct RowResults {
  /// What the net does: "classify", "segment" (classes of pixels), "generate" (pictures), or "samples" where it says
  /// nothing of single rows.
  std::string kind = "samples";
  std::vector<RowResult> rows;    ///< in the batch's order; empty where it has no rows of this process
  double loss = RowResult::none;  ///< the validation's loss of the batch: a mean over its rows
};

/// A Validator (stages/model/validator.h) may be one of these, too: it tells of single rows.
class RowValidator {
 public:
  virtual ~RowValidator() = default;
  /// As Validator::validate(), and returns what the net makes of each row; its pictures only for the rows `shown`.
  virtual RowResults validate_rows(Slab& slab, std::span<const std::size_t> shown) = 0;
};

}  // namespace flowtrain
