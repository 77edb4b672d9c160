#pragma once
// Small data sets in memory, which need no files, to try samplers on.

#include <memory>
#include <string>
#include <vector>

#include "sampling/dataset.h"

namespace flowtrain::plugin_kit {

/// The kinds of trial data: "shapes" (drawn records), "pixels" (32 x 32 x 3) and "images" (JPEG and PNG files).
const std::vector<std::string>& trial_kinds();

/// Pictures of shapes in 6 classes, with boxes: 300 records. Those of "pixels" and "images" have the part "txt", a
/// text.
std::unique_ptr<Dataset> make_trial_data(const std::string& kind);

}  // namespace flowtrain::plugin_kit
