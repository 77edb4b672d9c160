#pragma once
// loader.batch = "auto", carried out: steps of a net with batches of the training data's first samples.

#include "pipeline/engine/memory/auto_batch.h"
#include "pipeline/engine/session/session.h"

namespace flowtrain {

/// Looks for the largest batch of this process, on its device, by steps of a net that is made for the search and thrown
/// away: nothing is left for the run that follows. `config` has a batch of a few. Throws the errors of data and net.
FoundRows fit_batch(const Config& config, const SessionOptions& options, const MakeLearner& make_learner);

}  // namespace flowtrain
