#include "stages/torch/plugin.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "sampling/core/say.h"
#include "sampling/core/settings.h"

namespace flowtrain {

namespace {

struct KindWords {
  const char *what, *place;
};

// By kind, from PluginKind::hook on.
constexpr KindWords kind_words[] = {{"a hook", "[[hook]]"}, {"a training step", "[step]"}, {"a net", "[net]"},
                                    {"a loss", "[loss]"},   {"an optimizer", "[optim]"},   {"a metric", "[[metric]]"}};

const KindWords& words_of(PluginKind kind) { return kind_words[static_cast<std::size_t>(kind) - 1]; }

constexpr char kRebuild[] =
    "build it with this flowtrain's headers, its LibTorch and its compiler: stages/torch/plugins/README.md";

// An absolute path keeps dlopen from searching the library folders for a bare name.
void* load(const std::string& path) { return dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL); }

// The table of a file that load() took; none where it is no plugin that computes. `error` makes one of a message and a
// hint.
const PluginTable* table_of(void* handle, const auto& error) {
  const auto entry = reinterpret_cast<const PluginTable* (*)()>(dlsym(handle, "flowtrain_compute_plugin"));
  if (!entry) return nullptr;
  const PluginTable* table = entry();
  if (table->version != kPluginVersion)
    throw error(say("built for interface version ", table->version, ", this flowtrain has version ", kPluginVersion),
                kRebuild);
  if (std::string(table->built_by) != FLOWTRAIN_PLUGIN_BUILD)
    throw error(say("built by ", table->built_by, ", this flowtrain by ", FLOWTRAIN_PLUGIN_BUILD), kRebuild);
  return table;
}

const PluginTable& open(const Settings& settings, PluginKind kind) {
  const std::string& path = settings.text("plugin");
  const auto error = [&](const std::string& message, const std::string& hint) {
    return settings.error("plugin", path + ": " + message, Exit::usage, hint);
  };
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw error("no such file", "relative paths start at the working directory");
  void* handle = load(path);
  if (!handle) throw error(say("cannot be loaded: ", dlerror()), kRebuild);
  const PluginTable* table = table_of(handle, error);
  if (!table)
    throw error("does not export flowtrain_compute_plugin",
                "end its source with FLOWTRAIN_NET(Class), FLOWTRAIN_LOSS(Class) or the like");
  if (table->kind != kind)
    throw error(say(words_of(table->kind).what, ", not ", words_of(kind).what),
                say("name it in ", words_of(table->kind).place));
  return *table;
}

// The same values, checked against the plugin's keys. Those that the configuration took over unseen have no help.
Settings checked(const Settings& settings, const std::vector<Key>& own) {
  std::vector<Key> keys;
  for (auto& key : settings.keys()) {
    if (key.help.empty()) continue;
    if (std::ranges::any_of(own, [&](const Key& each) { return each.name == key.name; }))
      throw settings.error("plugin",
                           say(settings.text("plugin"), ": its key '", key.name, "' is one that the table has already"),
                           Exit::usage, say("give the plugin's key another name; the table's is: ", key.help));
    keys.push_back(key);
  }
  keys.insert(keys.end(), own.begin(), own.end());
  Settings all(settings.table(), keys);
  for (auto& key : settings.keys())
    if (settings.given(key.name)) all.set(key.name, settings.value(key.name), settings.origin(key.name));
  all.check_required(settings.origin("plugin").text());
  return all;
}

}  // namespace

const PluginTable* find_plugin(const std::string& path) {
  void* handle = load(path);
  return handle
             ? table_of(handle, [&](const std::string& message,
                                    const char* hint) { return UserError(Exit::usage, path + ": " + message, hint); })
             : nullptr;
}

const char* place_of(PluginKind kind) { return words_of(kind).place; }

Plugin::Plugin(const Settings& settings, PluginKind kind)
    : table_(&open(settings, kind)), settings_(checked(settings, table_->keys())) {}

}  // namespace flowtrain
