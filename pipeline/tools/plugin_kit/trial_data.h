#pragma once
// Small data sets in memory, which need no files, to try samplers on.

#include <memory>
#include <string>
#include <vector>

#include "sampling/dataset.h"

namespace flowtrain::plugin_kit {

/// The kinds of trial data: "shapes" (the records of the data set `shapes`), "pixels" (stored pixels, 32 x 32 x 3) and
/// "images" (JPEG and PNG files in turn).
const std::vector<std::string>& trial_kinds();

/// Pictures of shapes in 6 classes, with boxes: 300 records.
std::unique_ptr<Dataset> make_trial_data(const std::string& kind);

}  // namespace flowtrain::plugin_kit
