#pragma once
// The LibTorch learner: net, loss, optimizer and metrics behind the compute stage's door. This header needs no torch.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stages/learner_spec.h"

namespace flowtrain {

/// Builds everything with weights drawn from the seed. Throws UserError(usage) for settings that do not fit.
std::unique_ptr<Learner> make_torch_learner(const LearnerSpec& spec);

/// What can be named in [net], [loss], [optim] and val.metrics: a kind ("nets") and its names.
std::vector<std::pair<std::string, std::vector<std::string>>> model_parts();

/// LibTorch's version, for env.json.
std::string torch_version();

}  // namespace flowtrain
