// flowtrain plugins

#include <cstdio>

#include "pipeline/commands/computing/door.h"
#include "pipeline/commands/flags.h"
#include "sampling/order.h"
#include "sampling/plugin.h"

namespace flowtrain::commands {

namespace {

template <class Registry>
void list(const char* title, const Registry& registry) {
  std::printf("%s\n", title);
  for (auto& name : registry.names()) std::printf("  %-18s %s\n", name.c_str(), registry.at(name).help.c_str());
}

void describe(const std::string& path) {
  const SamplerPlugin plugin(path);
  std::printf("%s: %s\n", plugin.name().c_str(), plugin.help().c_str());
  for (auto& key : plugin.keys())
    std::printf("  sampler.%-16s %s (default %s)\n", key.name.c_str(), key.help.c_str(), to_toml(key.fallback).c_str());
}

}  // namespace

int plugins(const Arguments& arguments) {
  CLI::App app("Lists what can be named in a configuration; of a sampler plugin's file, its name and keys.", "flowtrain plugins");
  std::string path;
  app.add_option("FILE", path, "a sampler plugin (.so)");
  if (!parse(app, arguments)) return 0;
  if (!path.empty()) {
    describe(path);
    return 0;
  }
  list("data sets (data.dataset)", datasets());
  list("orders (order.name)", orders());
  list("samplers (sampler.name)", samplers());
  for (auto& [kind, names] : computing_parts().model_parts()) {
    std::printf("%s\n ", kind.c_str());
    for (auto& name : names) std::printf(" %s", name.c_str());
    std::printf("\n");
  }
  return 0;
}

}  // namespace flowtrain::commands
