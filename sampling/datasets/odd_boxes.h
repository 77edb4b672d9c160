#pragma once
// Boxes of annotations that do not fit their pictures.

#include <cstdint>
#include <string>

#include "sampling/dataset.h"

namespace flowtrain {

/// How many boxes do not fit, by kind.
struct OddBoxes {
  std::uint32_t flat = 0;      ///< without area
  std::uint32_t inverted = 0;  ///< of negative size: the second corner lies left of or above the first
  std::uint32_t outside = 0;   ///< outside of the picture
  std::uint32_t beyond = 0;    ///< reach beyond an edge by more than a pixel; these are kept

  std::uint32_t left_out() const { return flat + inverted + outside; }
  OddBoxes& operator+=(const OddBoxes& other);

  /// Whether the box is to be kept: it has an area in a picture of this size (0: not known). Counts it if it is odd.
  bool keeps(const Box& box, double width, double height);
  /// Warns of them where there are any; `file`: the data set's in the message, `first`: what the first one belongs to.
  void tell(const std::string& file, const std::string& first) const;
};

}  // namespace flowtrain
