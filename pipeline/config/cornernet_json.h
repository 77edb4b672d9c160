#pragma once
// Configurations of princeton-vl/CornerNet-Lite, which are JSON: {"system": {…}, "db": {…}}.

#include <filesystem>
#include <string>

namespace flowtrain {

/// The same training and test as our TOML. What has no meaning here (chunk_sizes, say) is listed in comments at its
/// end. The file's name says which net: CornerNet.json, CornerNet_Squeeze.json, CornerNet_Saccade.json, with any
/// -suffix. Throws UserError(usage) for a file that is none, or of another net.
std::string import_cornernet_json(const std::filesystem::path& file);

}  // namespace flowtrain
