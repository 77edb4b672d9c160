#pragma once
// The detector of a configuration whose net is of the CornerNet family.

#include "stages/detection/detector.h"

namespace flowtrain {

/// Builds the net, takes over the weights, and looks as [detect] says. Throws UserError: usage for keys that do not fit
/// each other, snapshot where the weights are not those of the net.
std::unique_ptr<Detector> make_corner_detector(const DetectorSpec& spec);

}  // namespace flowtrain
