#pragma once
// The hooks of a configuration.

#include <vector>

#include "stages/hooks/hooks.h"

namespace flowtrain {

class Settings;

/// Makes all of [[hook]], in their order. Throws UserError(usage).
void add_hooks(Hooks& hooks, const std::vector<Settings>& list);

}  // namespace flowtrain
