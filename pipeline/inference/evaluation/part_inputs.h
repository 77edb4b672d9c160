#pragma once
// What the results of a part of a test depend on: a part that was done with the same is not done again.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "pipeline/engine/session/validation_data.h"

namespace flowtrain {

/// {"program", "snapshot", "data", "config"}: the program's version, and xxHash64 of the snapshot, of the set's records
/// as far as they are known without reading them (Dataset::fingerprint), and of the files and the keys of the
/// configuration that results depend on. `device`: Device::name(). `pictures`: how many of the first samples are shown.
nlohmann::ordered_json part_inputs(const std::filesystem::path& snapshot, const ValidationData& set,
                                   const std::string& device, std::size_t pictures);

}  // namespace flowtrain
