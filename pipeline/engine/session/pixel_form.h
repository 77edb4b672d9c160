#pragma once
// The form of the pictures that a net learns from, which validation and test sets take over.

#include <optional>

#include "pipeline/base/config/config.h"
#include "pipeline/engine/train/run_state.h"
#include "sampling/dataset.h"
#include "sampling/samplers/stored.h"

namespace flowtrain {

/// Returns the form of the pixels of a data set, by its first record that can be read; nothing for picture files, which
/// may have any size, and if no record is pixels.
std::optional<PixelForm> pixel_form(const Dataset& dataset);
/// Returns that of the training data whose rows are like those of validation: with groups, of one source.
std::optional<PixelForm> learnt_pixels(const Config& config, const Dataset& training);
/// Returns the form of records of these pixels; of picture files if there are none.
StoredForm record_form(const std::optional<PixelForm>& pixels);

}  // namespace flowtrain
