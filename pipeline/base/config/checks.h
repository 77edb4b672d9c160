#pragma once
// Rules of the configuration that a type and bounds do not say.

#include "pipeline/base/config/config.h"

namespace flowtrain {

/// Throws UserError(usage) for the first value that cannot be meant.
void check_values(const Config& config);

}  // namespace flowtrain
