// flowtrain plugins

#include <cstdio>

#include "pipeline/base/config/plugins.h"
#include "pipeline/commands/flags.h"

namespace flowtrain::commands {

namespace {

void describe(const PartKind& kind, const std::string& name) {
  const PartFacts facts = kind.at(name);
  std::printf("%s.%s = \"%s\": %s\n", kind.table.c_str(), kind.key.c_str(), name.c_str(), facts.help.c_str());
  for (auto& key : facts.keys)
    std::printf("  %-18s %s (%s)\n", key.name.c_str(), key.help.c_str(),
                key.required ? "must be given" : ("default " + to_toml(key.fallback)).c_str());
}

}  // namespace

int plugins(const Arguments& arguments, Interrupt&) {
  CLI::App app(
      "Lists the parts that a configuration can name. With FILE, lists the parts that a plugin adds, and their keys.",
      "flowtrain plugins");
  std::string path;
  add_path(app, "FILE", path, "a plugin (.so)");
  if (!parse(app, arguments)) return 0;
  if (!path.empty()) {
    for (auto& [kind, name] : open_plugin(path)) describe(kind, name);
    return 0;
  }
  for (auto& kind : part_kinds()) {
    if (kind.title.empty()) continue;
    std::printf("%s\n", kind.title.c_str());
    for (auto& name : kind.names()) std::printf("  %-18s %s\n", name.c_str(), kind.at(name).help.c_str());
  }
  return 0;
}

}  // namespace flowtrain::commands
