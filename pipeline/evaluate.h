#pragma once
// Measuring a snapshot on the validation data: `flowtrain test`.

#include <filesystem>

#include "pipeline/config/config.h"
#include "stages/learner_spec.h"

namespace flowtrain {

/// Loss and metrics over the whole validation set. Throws UserError.
Figures evaluate(const Config& config, const std::filesystem::path& snapshot, const MakeLearner& make_learner);

}  // namespace flowtrain
