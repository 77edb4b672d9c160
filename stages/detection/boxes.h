#pragma once
// Boxes that a detector found, class by class.

#include <cstddef>
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

}  // namespace flowtrain
