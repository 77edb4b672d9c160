#pragma once
// Plugins in C++: shared objects that add parts of any kind to what a configuration can name. Built with the program's
// headers and by its compiler, and, where they compute, with its LibTorch; see docs/extending.md.

#include <cstdint>

#include "nets/entries.h"
#include "pipeline/base/schedules/schedule.h"
#include "sampling/dataset.h"
#include "sampling/order.h"
#include "sampling/sampler.h"
#include "stages/detection/detector_entries.h"
#include "stages/hooks/hook_entries.h"

#if __has_include(<torch/version.h>)
#include <torch/version.h>
#define FLOWTRAIN_PLUGIN_TORCH TORCH_VERSION
#else
#define FLOWTRAIN_PLUGIN_TORCH ""
#endif

namespace flowtrain {

/// What a plugin exports, as flowtrain_plugin. Filled in by the macro below.
struct PluginInfo {
  std::uint32_t version;  ///< plugin_version
  const char* compiler;   ///< must be the program's
  const char* torch;      ///< must be the program's; empty: built without
  void (*add)();          ///< adds entries to datasets(), samplers(), nets::nets(), hooks() …
};

inline constexpr std::uint32_t plugin_version = 5;

}  // namespace flowtrain

/// At the end of a plugin's source. `function`: takes nothing, and adds entries to the registries.
#define FLOWTRAIN_PLUGIN(function)                                                                                     \
  extern "C" __attribute__((visibility("default"))) const flowtrain::PluginInfo* flowtrain_plugin() {                  \
    static const flowtrain::PluginInfo info{flowtrain::plugin_version, __VERSION__, FLOWTRAIN_PLUGIN_TORCH, function}; \
    return &info;                                                                                                      \
  }
