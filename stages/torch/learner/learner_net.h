#pragma once
// The net of a learner.

#include <memory>

#include "nets/models/net.h"
#include "stages/learner_spec.h"

namespace flowtrain {

/// The net that [net] describes for pictures as the sampler makes them, on the spec's device; weights are drawn from
/// its seed. Throws UserError(usage).
std::shared_ptr<nets::Net> make_learner_net(const LearnerSpec& spec);

}  // namespace flowtrain
