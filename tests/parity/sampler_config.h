#pragma once
// The reference's configuration of a sampler.

#include <nlohmann/json.hpp>

#include "sampling/samplers/cornernet/options.h"

namespace flowtrain::parity {

/// The options that a "db" table of the reference stands for, quirks mirrored. What is missing has the reference's
/// default, which is not that of a published net. Throws BadCall for a key that it does not know, or a wrong type.
CornerOptions reference_options(nlohmann::json config, bool saccade);

}  // namespace flowtrain::parity
