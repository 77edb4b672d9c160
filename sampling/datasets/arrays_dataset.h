#pragma once
// A data set whose images are in the memory of the surrounding program.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sampling/dataset.h"

namespace flowtrain {

/// Images and their labels, which somebody else owns.
struct Arrays {
  std::span<const std::byte> images = {};     ///< u8 (n, height, width, channels), without gaps
  std::span<const std::int64_t> labels = {};  ///< (n), class indices from 0
  std::uint32_t height = 0, width = 0, channels = 0;
  std::vector<std::string> class_names = {};  ///< names in label order; empty: 0, 1, 2 … up to the largest label
};

/// Makes a data set whose record i is image i. Nothing is copied: the memory must outlive the data set, unchanged.
/// Throws UserError(data) if images, labels and classes do not fit together; EmptyDataset for no images.
std::unique_ptr<Dataset> make_arrays_dataset(Arrays arrays);

}  // namespace flowtrain
