#include "pipeline/commands/computing/parts.h"
#include "stages/torch/plugin.h"

namespace flowtrain::commands::computing {

std::optional<PluginFacts> plugin_facts(const std::string& path) {
  const PluginTable* table = find_plugin(path);
  if (!table) return std::nullopt;
  return PluginFacts{place_of(table->kind), table->help, table->keys()};
}

}  // namespace flowtrain::commands::computing
