#pragma once
// Rules of the configuration that types and bounds do not express.

#include "pipeline/base/config/config.h"

namespace flowtrain {

/// Throws UserError(usage) for the first value that breaks a rule.
void check_values(const Config& config);

}  // namespace flowtrain
