#pragma once
// Makes the net of a learner, and its training step.

#include <memory>

#include "nets/net.h"
#include "nets/steps/step.h"
#include "stages/model/learner_spec.h"

namespace flowtrain {

/// Makes the net of [net] for pictures from the sampler, on the spec's device; weights are drawn from its seed, and
/// then set by [[net.init]]. Throws UserError(usage).
std::shared_ptr<nets::Net> make_learner_net(const LearnerSpec& spec);

/// Returns whether training batches have groups of rows; false for a learner that only validates.
bool trains_on_groups(const LearnerSpec& spec);

/// Returns the rank whose draws (dropout) this process makes: its own, or 0 in all processes (dist.same_draws).
std::uint64_t rank_of_draws(const LearnerSpec& spec);

/// Makes the step that [step] names. `net` must outlive it. Throws UserError(usage), here and from the step itself,
/// with the guilty key if net, loss and batch do not fit each other.
std::unique_ptr<nets::Step> make_training_step(const LearnerSpec& spec, nets::Net& net);

}  // namespace flowtrain
