#pragma once
// Makes the detectors that [detect] can name.

#include <memory>
#include <string>

#include "stages/detection/detector_entries.h"

namespace flowtrain {

/// Makes the detector of this name with the keys of [detect]. Throws UserError(usage) for keys, nets and batches that
/// do not fit each other.
std::unique_ptr<Detector> make_detector(const std::string& name, const Settings& detect, const DetectorInput& input);

}  // namespace flowtrain
