#pragma once
// Writes a new plugin's folder: `flowtrain plugin new`.

#include <string>

namespace flowtrain::plugin_kit {

struct NewPlugin {
  std::string name;              ///< names the folder and the sampler
  std::string language = "cpp";  ///< "c" or "cpp"
};

/// Writes the folder `name` into the working folder, and returns instructions for people. Throws UserError(usage) for a
/// name that is not an identifier, is a sampler's, or exists.
std::string write_new_plugin(const NewPlugin& plugin);

}  // namespace flowtrain::plugin_kit
