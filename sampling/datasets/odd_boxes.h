#pragma once
// Counts annotated boxes that do not fit their images.

#include <cstdint>
#include <string>

#include "sampling/dataset.h"

namespace flowtrain {

/// The numbers of boxes that do not fit, by kind.
struct OddBoxes {
  std::uint32_t flat = 0;      ///< boxes without area
  std::uint32_t inverted = 0;  ///< boxes of negative size: the second corner lies left of or above the first
  std::uint32_t outside = 0;   ///< boxes outside of the image
  std::uint32_t beyond = 0;    ///< boxes that reach beyond an edge by more than a pixel; these are kept

  std::uint32_t left_out() const { return flat + inverted + outside; }
  OddBoxes& operator+=(const OddBoxes& other);

  /// Returns whether the box is kept: it has an area in an image of this size (0: unknown). Counts it if it is odd.
  bool keeps(const Box& box, double width, double height);
  /// Warns of odd boxes, if any; `file` is the data set's name in the message, `first` the owner of the first one.
  void report(const std::string& file, const std::string& first) const;
};

}  // namespace flowtrain
