#pragma once
// `flowtrain plugin new`: a folder with a plugin to begin with.

#include <string>

namespace flowtrain::plugin_kit {

struct NewPlugin {
  std::string name;              ///< names the folder and the sampler
  std::string language = "cpp";  ///< "c" or "cpp"
};

/// Writes the folder `name` into the working folder, and returns what to do next, for people. Throws UserError(usage)
/// for a name that is no identifier, is a sampler's already, or is there.
std::string write_new_plugin(const NewPlugin& plugin);

}  // namespace flowtrain::plugin_kit
