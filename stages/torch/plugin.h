#pragma once
// Plugins that compute: nets, losses, optimizers, metrics, hooks and training steps in shared objects. They work on
// tensors, so they are built against the same LibTorch and by the same compiler as the program; see
// stages/torch/plugins/README.md.

#include <torch/version.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nets/losses/loss.h"
#include "nets/metrics/metric.h"
#include "nets/models/net.h"
#include "nets/optim/optimizer.h"
#include "nets/step.h"
#include "sampling/core/settings.h"
#include "stages/hook.h"

namespace flowtrain {

enum class PluginKind : std::uint32_t { hook = 1, step, net, loss, optimizer, metric };

/// What a plugin exports, as flowtrain_compute_plugin. Filled in by the macros below.
struct PluginTable {
  std::uint32_t version;  ///< kPluginVersion
  const char* built_by;   ///< FLOWTRAIN_PLUGIN_BUILD
  PluginKind kind;
  const char* help;            ///< one line
  std::vector<Key> (*keys)();  ///< of its own in the table that names it
  // The one of its kind. Settings: all of the table, its own keys among them.
  Hook* (*make_hook)(const Settings& settings) = nullptr;
  nets::Step* (*make_step)(const Settings& settings, nets::Net& net) = nullptr;
  nets::Net* (*make_net)(const Settings& settings, const nets::NetSpec& spec) = nullptr;
  nets::Loss* (*make_loss)(const Settings& settings) = nullptr;
  nets::Optimizer* (*make_optimizer)(const Settings& settings,
                                     const std::vector<nets::ParameterGroup>& groups) = nullptr;
  nets::Metric* (*make_metric)(const Settings& settings, std::int64_t classes) = nullptr;
};

inline constexpr std::uint32_t kPluginVersion = 2;
/// What must be the same on both sides: the compiler and LibTorch.
#define FLOWTRAIN_PLUGIN_BUILD "compiler " __VERSION__ ", LibTorch " TORCH_VERSION

#define FLOWTRAIN_PLUGIN(Class, of_kind, ...)                                                                  \
  extern "C" __attribute__((visibility("default"))) const flowtrain::PluginTable* flowtrain_compute_plugin() { \
    using namespace flowtrain;                                                                                 \
    static const PluginTable table{.version = kPluginVersion,                                                  \
                                   .built_by = FLOWTRAIN_PLUGIN_BUILD,                                         \
                                   .kind = PluginKind::of_kind,                                                \
                                   .help = Class::help(),                                                      \
                                   .keys = Class::keys,                                                        \
                                   .make_##of_kind = __VA_ARGS__};                                             \
    return &table;                                                                                             \
  }

// Each class has a constructor with the arguments that stand here, and static functions `const char* help()` and
// `std::vector<Key> keys()`.

/// A nets::Net from `const Settings&, const nets::NetSpec&`: [net] plugin. ModuleNet has all but forward() of one that
/// is made of torch's modules; its first values are drawn from torch's generator.
#define FLOWTRAIN_NET(Class)                                                                           \
  FLOWTRAIN_PLUGIN(Class, net, [](const Settings& settings, const nets::NetSpec& spec) -> nets::Net* { \
    return new Class(settings, spec);                                                                  \
  })
/// A nets::Loss from `const Settings&`: [loss] plugin.
#define FLOWTRAIN_LOSS(Class) \
  FLOWTRAIN_PLUGIN(Class, loss, [](const Settings& settings) -> nets::Loss* { return new Class(settings); })
/// A nets::Optimizer from `const Settings&, const std::vector<nets::ParameterGroup>&`: [optim] plugin.
#define FLOWTRAIN_OPTIMIZER(Class)                                                                                     \
  FLOWTRAIN_PLUGIN(Class, optimizer,                                                                                   \
                   [](const Settings& settings, const std::vector<nets::ParameterGroup>& groups) -> nets::Optimizer* { \
                     return new Class(settings, groups);                                                               \
                   })
/// A nets::Metric from `const Settings&, std::int64_t classes`: [[metric]] plugin.
#define FLOWTRAIN_METRIC(Class)                                                                         \
  FLOWTRAIN_PLUGIN(Class, metric, [](const Settings& settings, std::int64_t classes) -> nets::Metric* { \
    return new Class(settings, classes);                                                                \
  })
/// A Hook from `const Settings&`: [[hook]] plugin.
#define FLOWTRAIN_HOOK(Class) \
  FLOWTRAIN_PLUGIN(Class, hook, [](const Settings& settings) -> Hook* { return new Class(settings); })
/// A nets::Step from `const Settings&, nets::Net&`: [step] plugin.
#define FLOWTRAIN_STEP(Class)   \
  FLOWTRAIN_PLUGIN(Class, step, \
                   [](const Settings& settings, nets::Net& net) -> nets::Step* { return new Class(settings, net); })

/// The table of the file at `path`, which is opened for good; none where it cannot be loaded, or is no plugin that
/// computes. Throws UserError(usage) for one of another build.
const PluginTable* find_plugin(const std::string& path);
/// The table of a configuration that names such a plugin: "[net]", "[[hook]]".
const char* place_of(PluginKind kind);

/// A plugin's file, opened for good.
class Plugin {
 public:
  /// Opens the file that `settings` names as `plugin`, and checks what else the table holds against the plugin's keys.
  /// Throws UserError(usage), at the key's place: no such file, not a plugin, of another kind or build, a key that it
  /// does not have.
  Plugin(const Settings& settings, PluginKind kind);

  std::unique_ptr<Hook> hook() const { return std::unique_ptr<Hook>(table_->make_hook(settings_)); }
  std::unique_ptr<nets::Step> step(nets::Net& net) const {
    return std::unique_ptr<nets::Step>(table_->make_step(settings_, net));
  }
  std::unique_ptr<nets::Net> net(const nets::NetSpec& spec) const {
    return std::unique_ptr<nets::Net>(table_->make_net(settings_, spec));
  }
  std::unique_ptr<nets::Loss> loss() const { return std::unique_ptr<nets::Loss>(table_->make_loss(settings_)); }
  std::unique_ptr<nets::Optimizer> optimizer(const std::vector<nets::ParameterGroup>& groups) const {
    return std::unique_ptr<nets::Optimizer>(table_->make_optimizer(settings_, groups));
  }
  std::unique_ptr<nets::Metric> metric(std::int64_t classes) const {
    return std::unique_ptr<nets::Metric>(table_->make_metric(settings_, classes));
  }
  std::string help() const { return table_->help; }

 private:
  const PluginTable* table_;
  Settings settings_;  // with the plugin's own keys
};

}  // namespace flowtrain
