#pragma once
// What a snapshot says of the form of the training data.

#include <optional>

#include "pipeline/engine/train/run_state.h"
#include "sampling/dataset.h"

namespace flowtrain {

/// The form of the pixels of a data set in memory, from its first record that can be read; nothing for data sets of
/// files, which hold picture files of any size, and where no record is pixels.
std::optional<PixelForm> pixel_form(const Dataset& dataset);

}  // namespace flowtrain
