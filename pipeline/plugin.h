#pragma once
// Plugins in C++ are shared objects that add parts of any kind to those that a configuration can name. They are built
// with the program's headers and compiler, and with its LibTorch if they compute; see docs/extending.md.

#include <cstdint>

#include "nets/entries.h"
#include "pipeline/base/schedules/schedule.h"
#include "sampling/dataset.h"
#include "sampling/order.h"
#include "sampling/sampler.h"
#include "sampling/shown.h"
#include "sampling/transform.h"
#include "stages/detection/detector_entries.h"
#include "stages/hooks/hook_entries.h"

#if __has_include(<torch/version.h>)
#include <torch/version.h>
#define FLOWTRAIN_PLUGIN_TORCH TORCH_VERSION
#else
#define FLOWTRAIN_PLUGIN_TORCH ""
#endif

namespace flowtrain {

/// The description that a plugin exports as flowtrain_plugin. The macro below fills it in.
struct PluginInfo {
  std::uint32_t version;  ///< plugin_version
  const char* compiler;   ///< must be the program's
  const char* torch;      ///< must be the program's; empty: built without LibTorch
  void (*add)();          ///< adds entries to datasets(), samplers(), nets::nets(), hooks() …
};

inline constexpr std::uint32_t plugin_version = 6;

}  // namespace flowtrain

/// Ends a plugin's source. `function` takes no arguments, and adds entries to the registries.
#define FLOWTRAIN_PLUGIN(function)                                                                                     \
  extern "C" __attribute__((visibility("default"))) const flowtrain::PluginInfo* flowtrain_plugin() {                  \
    static const flowtrain::PluginInfo info{flowtrain::plugin_version, __VERSION__, FLOWTRAIN_PLUGIN_TORCH, function}; \
    return &info;                                                                                                      \
  }
