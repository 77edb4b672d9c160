#pragma once
// The inputs that decide the results of a part of a test. A part with the same inputs is not measured again.

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
