#pragma once
// The detector of a configuration whose net is of the CornerNet family.

#include "stages/detection/detector.h"

namespace flowtrain {

namespace nets {
class CornerNet;
}

/// Builds the net, takes over the weights, and looks as [detect] says. Throws UserError: usage for keys that do not fit
/// each other, snapshot where the weights are not those of the net.
std::unique_ptr<Detector> make_corner_detector(const DetectorSpec& spec);

/// Looks through a net that is there, as it is each time; it is to be in eval mode then. Throws UserError(usage) as
/// above.
std::unique_ptr<Detector> detector_through(std::shared_ptr<nets::CornerNet> net, const LookSpec& spec);

}  // namespace flowtrain
