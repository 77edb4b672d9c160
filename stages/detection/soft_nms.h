#pragma once
// Boxes that a detector found, class by class, and thinning out those that overlap. N. Bodla et al., "Soft-NMS",
// ICCV 2017; numbers as in the reference implementation of the CornerNet family, princeton-vl/CornerNet-Lite.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace flowtrain {

/// A box and its scores, 0 … 1: its own, and those of the corners it was made of.
struct ScoredBox {
  float x0, y0, x1, y1;
  float score, tl_score, br_score;
};

/// The boxes of a picture; the index is the class.
using ClassBoxes = std::vector<std::vector<ScoredBox>>;

/// Leaves the `most` best boxes of all classes together, in their order; those that tie with the last one stay too.
void keep_best(ClassBoxes& boxes, std::size_t most);

/// Returns the factor for a box's score when a better box overlaps it by `iou` (intersection over union, with widths
/// and heights one pixel larger than the corners' distance).
enum class NmsMethod {
  hard,         ///< 0 above the threshold, else 1
  linear,       ///< 1 - iou above the threshold, else 1
  exponential,  ///< exp(-iou² / sigma)
  none,         ///< 1
};

/// Returns the method of `nms`, `linear_soft_nms`, `exp_soft_nms` or `none`. Throws UserError for another name.
NmsMethod nms_method(const std::string& name);

struct NmsOptions {
  NmsMethod method = NmsMethod::exponential;
  float threshold = 0.5F;  ///< hard, linear: the overlap from which it matters
  float sigma = 0.5F;      ///< exponential
  float least = 0.001F;    ///< a box whose score falls below is dropped
  bool merge = false;      ///< boxes become weighted means of those that overlap them
  float weight_exp = 8;    ///< merge: a box's weight is (1 - factor)^weight_exp, times its corner's score
  /// Follows the reference's CornerNet: corner scores stay in their places when boxes change theirs, so that merging
  /// weighs with those of other boxes; and dropped boxes are not cut off, so that copies of the last boxes remain.
  bool mirror = false;
};

/// Sorts the boxes of one class by descending score while lowering the scores of those that overlap better ones.
/// Returns how many are left, at the front; what follows are leftovers: copies of boxes that took a dropped one's
/// place.
std::size_t soft_nms(std::span<ScoredBox> boxes, const NmsOptions& options);

/// Does so for each class. The leftovers are cut off unless options.mirror.
void soft_nms(ClassBoxes& boxes, const NmsOptions& options);

}  // namespace flowtrain
