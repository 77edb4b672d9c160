#pragma once
// Finds loader.batch = "auto" by steps of a net with batches of the training data's first samples.

#include "pipeline/engine/memory/auto_batch.h"
#include "pipeline/engine/session/session.h"

namespace flowtrain {

/// Searches for the largest batch of this process, on its device, by steps of a net that is destroyed afterwards, so
/// the run is not affected. `config` has a batch of a few rows. Throws the errors of data and net.
FoundRows fit_batch(const Config& config, const SessionOptions& options, const MakeLearner& make_learner);

}  // namespace flowtrain
