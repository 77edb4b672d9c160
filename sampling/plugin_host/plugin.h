#pragma once
// The host's side of sampler plugins: loads a shared object and provides it as a Sampler.

#include <memory>
#include <string>

#include "sampling/core/settings.h"
#include "sampling/sampler.h"

namespace flowtrain {

/// A loaded plugin; the shared object stays loaded as long as one of its samplers lives.
class SamplerPlugin {
 public:
  /// Opens `path` (dlopen). Throws UserError(usage) naming the path and the problem: no such file, not a shared object,
  /// symbol missing, another interface version (both numbers named), a struct of another size.
  explicit SamplerPlugin(const std::string& path);

  std::string name() const;
  std::string help() const;
  /// Returns the keys that the plugin adds to the [sampler] table.
  std::vector<Key> keys() const;
  /// Makes a sampler of this plugin for `settings` with keys(). Throws UserError(usage) with the plugin's message if it
  /// cannot be made, or if its fields are wrong (names unique, shapes positive, dtype known, measured if axes are
  /// free).
  std::unique_ptr<Sampler> make(const Settings& settings, const SamplerInput& input) const;

 private:
  struct Library;
  std::shared_ptr<Library> library_;
};

}  // namespace flowtrain
