#pragma once
// Plugins that add to what a configuration can name: data sets, orders, samplers and schedules. Built with this
// flowtrain's headers, by its compiler; see sampling/plugins/README.md.

#include <cstdint>
#include <string>

#include "sampling/core/registry.h"

namespace flowtrain {

/// What such a plugin exports, as flowtrain_parts_plugin. Filled in by the macro below.
struct PartsPlugin {
  std::uint32_t version;  ///< kPartsVersion
  const char* built_by;   ///< FLOWTRAIN_PARTS_BUILD
  void (*add)();          ///< to datasets(), orders(), samplers(), curves()
};

inline constexpr std::uint32_t kPartsVersion = 1;
/// What must be the same on both sides.
#define FLOWTRAIN_PARTS_BUILD "compiler " __VERSION__

/// At the end of a plugin's source. `function`: takes nothing, and adds entries to the registries.
#define FLOWTRAIN_PARTS(function)                                                                            \
  extern "C" __attribute__((visibility("default"))) const flowtrain::PartsPlugin* flowtrain_parts_plugin() { \
    static const flowtrain::PartsPlugin plugin{flowtrain::kPartsVersion, FLOWTRAIN_PARTS_BUILD, function};   \
    return &plugin;                                                                                          \
  }

/// Opens the plugin at `path` for good and lets it add its parts, once in a process. False: the file can be loaded, and
/// is no such plugin. Throws UserError(usage), beginning with the path: no such file, cannot be loaded, another build,
/// a name that is taken.
bool add_parts(const std::string& path);

}  // namespace flowtrain
