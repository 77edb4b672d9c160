#pragma once
// Finds keys that are given but have no effect.

#include <string>
#include <vector>

#include "pipeline/base/config/config.h"

namespace flowtrain {

/// Returns a line for each: its place, and why it is not read. These are no errors, as a base or a flag may well change
/// the other key.
std::vector<std::string> idle_keys(const Config& config);

}  // namespace flowtrain
