#pragma once
// Opens plugins: run.plugins.

#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/base/config/part_kinds.h"

namespace flowtrain {

/// A part that a plugin has added.
struct AddedPart {
  const PartKind& kind;
  std::string name;
};

/// Opens the plugin at `path` for good and lets it add its entries, once in a process: one of pipeline/plugin.h, or a
/// sampler of the C interface (sampling/plugin_abi.h). Throws UserError(usage), beginning with the path: no such file,
/// not a plugin, one of another build, a name that is taken, a key that its table has already. Returns what it has
/// added; nothing if it was open already.
std::vector<AddedPart> open_plugin(const std::string& path);

/// Removes all entries of plugins from the registries, so that another configuration may open others that add
/// parts of the same names. Parts that were made remain valid, as the files stay open.
void forget_plugins();

/// Sets the function that is called before the plugin at `plugin` is opened because the configuration at `config` names
/// it; it may refuse the plugin by an exception. Call this once, before other threads start.
void set_plugin_guard(void (*guard)(const std::filesystem::path& config, const std::filesystem::path& plugin));
/// Calls that function, if there is one.
void guard_plugin(const std::filesystem::path& config, const std::filesystem::path& plugin);

/// Sets the function that open_plugin() calls before it retries a file that cannot be loaded: a plugin that computes
/// needs LibTorch, which the program opens only then. The function may throw.
void set_torch_loader(void (*load)());

}  // namespace flowtrain
