#pragma once
// The training step of a configuration.

#include <memory>

#include "nets/steps/step.h"
#include "stages/learner_spec.h"

namespace flowtrain {

namespace nets {
class Net;
}

/// The step that [step] names. `net` must outlive it. Throws UserError(usage), here and from the step itself, where
/// net, loss and batch do not fit each other: it names the key that is to blame.
std::unique_ptr<nets::Step> make_training_step(const LearnerSpec& spec, nets::Net& net);

}  // namespace flowtrain
