#pragma once
// The detector of a configuration whose net is of the CornerNet family.

#include <memory>

#include "stages/detection/detector.h"

namespace flowtrain {

namespace nets {
class CornerNet;
}

/// Looks through a net that is there, as it is each time; it is to be in eval mode then. Throws UserError(usage) for
/// keys that do not fit each other.
std::unique_ptr<Detector> detector_through(std::shared_ptr<nets::CornerNet> net, const DetectSpec& spec);

}  // namespace flowtrain
