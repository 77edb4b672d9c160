#pragma once
// The net of a learner, and its training step.

#include <memory>

#include "nets/net.h"
#include "nets/steps/step.h"
#include "stages/model/learner_spec.h"

namespace flowtrain {

/// The net that [net] describes for pictures as the sampler makes them, on the spec's device; weights are drawn from
/// its seed, and then set as [[net.init]] says. Throws UserError(usage).
std::shared_ptr<nets::Net> make_learner_net(const LearnerSpec& spec);

/// The rank whose draws (dropout) this process makes: its own, or 0 in all processes (dist.same_draws).
std::uint64_t rank_of_draws(const LearnerSpec& spec);

/// The step that [step] names. `net` must outlive it. Throws UserError(usage), here and from the step itself, where
/// net, loss and batch do not fit each other: it names the key that is to blame.
std::unique_ptr<nets::Step> make_training_step(const LearnerSpec& spec, nets::Net& net);

}  // namespace flowtrain
