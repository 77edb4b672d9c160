#include "stages/torch/hooks/built_in.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "nets/names.h"
#include "sampling/core/say.h"
#include "sampling/core/settings.h"
#include "stages/torch/learner/steps.h"
#include "stages/torch/plugin.h"

namespace flowtrain {

namespace {

using MakeHook = std::unique_ptr<Hook> (*)(const Settings&);

const std::map<std::string, MakeHook>& makers() {
  static const std::map<std::string, MakeHook> all{{"norms", make_norms_hook}, {"stop_file", make_stop_file_hook}};
  return all;
}

std::unique_ptr<Hook> make_hook(const Settings& settings) {
  if (!settings.text("plugin").empty()) {
    const Plugin plugin(settings, PluginKind::hook);
    return made_from(settings, "plugin", [&] { return plugin.hook(); });
  }
  const std::string& name = settings.text("name");
  if (name.empty())
    throw settings.error("name", "is missing", Exit::usage, "name a hook, or a plugin's file as plugin");
  const auto found = makers().find(name);
  if (found == makers().end())
    throw settings.error("name", nets::unknown_name("hook", name, hook_names()).what(), Exit::usage,
                         "a hook of your own: plugin = \"FILE.so\"");
  return found->second(settings);
}

std::string label_of(const Settings& settings) {
  for (auto* key : {"label", "name"})
    if (!settings.text(key).empty()) return settings.text(key);
  const std::string& path = settings.text("plugin");
  const auto slash = path.rfind('/');
  const std::string file = slash == std::string::npos ? path : path.substr(slash + 1);
  return file.substr(0, file.find('.'));
}

}  // namespace

void add_hooks(Hooks& hooks, const std::vector<Settings>& list) {
  std::map<std::string, const Settings*> labels;
  for (auto& settings : list) {
    const std::string label = label_of(settings);
    const auto key = settings.given("label") ? "label" : settings.given("name") ? "name" : "plugin";
    if (const auto [first, is_new] = labels.emplace(label, &settings); !is_new)
      throw settings.error(key, say("two hooks are called '", label, "'"), Exit::usage, "give each a label");
    hooks.add(make_hook(settings), label, settings.integer("priority"), settings.text("ranks") == "first");
  }
}

std::vector<std::string> hook_names() {
  std::vector<std::string> names;
  for (auto& [name, make] : makers()) names.push_back(name);
  return names;
}

}  // namespace flowtrain
