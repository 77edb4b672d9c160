#pragma once
// What `record` and `playback` agree on: where rows are stored, and what decided them.

#include <filesystem>
#include <string>
#include <vector>

#include "sampling/core/settings.h"
#include "sampling/sampler.h"

namespace flowtrain {

/// The key `rows`: the folder of both decorators.
Key rows_key();

/// The file of a data set's rows, within the folder that `settings` names: "train-" or "val-" and the fingerprint of
/// the data set.
std::filesystem::path rows_file(const Settings& settings, const SamplerInput& input);

/// The fields, and the keys of the sampler that the chain decorates: a line each.
std::string rows_description(const Settings& settings, const std::vector<Field>& fields);

}  // namespace flowtrain
