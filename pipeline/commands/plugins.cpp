// flowtrain plugins

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "pipeline/commands/computing/door.h"
#include "pipeline/commands/flags.h"
#include "pipeline/config/curves.h"
#include "pipeline/config/parts_plugin.h"
#include "sampling/core/registry.h"
#include "sampling/order.h"
#include "sampling/plugin.h"

namespace flowtrain::commands {

namespace {

template <class Registry>
void list(const char* title, const Registry& registry) {
  std::printf("%s\n", title);
  for (auto& name : registry.names()) std::printf("  %-18s %s\n", name.c_str(), registry.at(name).help.c_str());
}

void describe(const std::string& place, const std::string& name, const std::string& help,
              const std::vector<Key>& keys) {
  std::printf("%s: %s: %s\n", place.c_str(), name.c_str(), help.c_str());
  for (auto& key : keys)
    std::printf("  %-18s %s (%s)\n", key.name.c_str(), key.help.c_str(),
                key.required ? "must be given" : ("default " + to_toml(key.fallback)).c_str());
}

template <class Registry>
void list_added(const char* title, const Registry& registry, const std::vector<std::string>& before) {
  for (auto& name : registry.names())
    if (std::find(before.begin(), before.end(), name) == before.end())
      describe(title, name, registry.at(name).help, registry.at(name).keys);
}

bool describe_parts(const std::string& path) {
  const auto sets = datasets().names(), orderings = orders().names(), makers = samplers().names(),
             moves = curves().names();
  if (!std::filesystem::exists(path) || !add_parts(path)) return false;
  list_added("[data] dataset", datasets(), sets);
  list_added("[order] name", orders(), orderings);
  list_added("[sampler] name", samplers(), makers);
  list_added("[[schedule]] name", curves(), moves);
  return true;
}

void describe(const std::string& path) {
  // First, for plugins that compute do not load unless LibTorch is there.
  if (const auto facts = computing_parts().plugin_facts(path))
    return describe(facts->place + " plugin", std::filesystem::path(path).filename(), facts->help, facts->keys);
  if (describe_parts(path)) return;
  const SamplerPlugin plugin(path);
  describe("[sampler] plugin", plugin.name(), plugin.help(), plugin.keys());
}

}  // namespace

int plugins(const Arguments& arguments, Interrupt&) {
  CLI::App app("Lists what can be named in a configuration; of a plugin's file, the table that names it, and its keys.",
               "flowtrain plugins");
  std::string path;
  add_path(app, "FILE", path, "a plugin (.so)");
  if (!parse(app, arguments)) return 0;
  if (!path.empty()) {
    describe(path);
    return 0;
  }
  list("data sets (data.dataset)", datasets());
  list("orders (order.name)", orders());
  list("samplers (sampler.name)", samplers());
  list("schedules (schedule.name)", curves());
  for (auto& [kind, names] : computing_parts().model_parts()) {
    std::printf("%s\n ", kind.c_str());
    for (auto& name : names) std::printf(" %s", name.c_str());
    std::printf("\n");
  }
  return 0;
}

}  // namespace flowtrain::commands
