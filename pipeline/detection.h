#pragma once
// What a detection net finds in the validation pictures, and how good that is.

#include <filesystem>

#include "pipeline/config/config.h"
#include "stages/compute.h"
#include "stages/detection/detector.h"

namespace flowtrain {

/// Whether the configuration's net finds objects, so that it is measured by test_detection().
bool detects(const Config& config);

/// Runs the detector that `make` gives for a snapshot over the validation pictures and writes to `folder` results.json
/// (as MS COCO has it) and the first `pictures` of them with annotated and found boxes drawn (PNG). Logs the figures of each
/// class. Returns COCO's twelve and VOC's mean AP: `ap`, `ap50`, … Pictures that cannot be read are told, and count as
/// pictures in which nothing was found.
Figures test_detection(const Config& config, const std::filesystem::path& snapshot, const MakeDetector& make,
                       const std::filesystem::path& folder, std::size_t pictures);

}  // namespace flowtrain
