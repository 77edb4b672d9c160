#pragma once
// A data set whose pictures lie in memory already, and belong to the program around it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sampling/dataset.h"

namespace flowtrain {

/// Pictures and their labels, as somebody else holds them.
struct Arrays {
  std::span<const std::byte> images = {};     ///< u8 (n, height, width, channels), without gaps
  std::span<const std::int64_t> labels = {};  ///< (n), class indices from 0
  std::uint32_t height = 0, width = 0, channels = 0;
  std::vector<std::string> class_names = {};  ///< in label order; empty: 0, 1, 2 … up to the largest label
};

/// Record i is picture i. Nothing is copied: the memory must outlive the data set, unchanged. Throws UserError(data)
/// where images and labels do not fit together, or a label has no class; EmptyDataset for no pictures.
std::unique_ptr<Dataset> make_arrays_dataset(Arrays arrays);

}  // namespace flowtrain
