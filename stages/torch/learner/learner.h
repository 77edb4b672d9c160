#pragma once
// The LibTorch learner: net, loss, optimizer and metrics behind the compute stage's interface. This header needs no
// torch.

#include <memory>
#include <string>

#include "stages/model/learner_spec.h"

namespace flowtrain {

/// Builds everything with weights drawn from the seed. Throws UserError(usage) for settings that do not fit.
std::unique_ptr<Learner> make_torch_learner(const LearnerSpec& spec);

/// Returns LibTorch's version, for env.json.
std::string torch_version();
/// Returns the folder of the loaded LibTorch, with its `include` and `lib`.
std::string torch_folder();

}  // namespace flowtrain
