#pragma once
// Keys that are given and that nothing reads.

#include <string>
#include <vector>

#include "pipeline/base/config/config.h"

namespace flowtrain {

/// A line for each: its place, and what keeps it from being read. No error, for a base or a flag may well change the
/// other key.
std::vector<std::string> idle_keys(const Config& config);

}  // namespace flowtrain
