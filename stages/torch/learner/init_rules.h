#pragma once
// First values of parameters as [[net.init]] wants them.

#include <vector>

#include "nets/tensors.h"

namespace flowtrain {

class Settings;

/// Sets those that a rule matches, each by the last of these, drawing from torch's default generator; the same bits for
/// any number of threads. `parameters`: all of the net, on the CPU. Throws UserError(usage) for a rule that matches
/// none, or one that cannot be used for a parameter.
void apply_init_rules(const std::vector<Settings>& rules, const nets::NamedTensors& parameters);

}  // namespace flowtrain
