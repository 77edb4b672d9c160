#pragma once
// val.pictures: which samples of a validation set are shown.

#include <optional>

#include "pipeline/engine/session/validation_data.h"
#include "pipeline/engine/validation/samples.h"

namespace flowtrain {

/// Those of a set, for its validations; nothing where val.pictures is 0. Refers to the set's data.
std::optional<SampleChoice> sample_choice(const ValidationData& set);

}  // namespace flowtrain
