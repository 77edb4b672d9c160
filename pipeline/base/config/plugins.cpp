#include "pipeline/base/config/plugins.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "pipeline/base/config/keys.h"
#include "pipeline/base/config/part_kinds.h"
#include "pipeline/plugin.h"
#include "sampling/core/mutex.h"
#include "sampling/core/text.h"
#include "sampling/plugin_host/plugin.h"

namespace flowtrain {
namespace {

const std::string rebuild = "build it with this flowtrain's headers, its LibTorch and its compiler: docs/extending.md";
// The message in processes that never have LibTorch: the Python package, whose library exports nothing.
const std::string no_symbols =
    "plugins of pipeline/plugin.h need symbols that only the program has; here samplers of the C interface "
    "(sampling/plugin_abi.h, or plugin.hpp for C++) can be opened: docs/extending.md";

void (*torch_loader)() = nullptr;
void (*plugin_guard)(const std::filesystem::path&, const std::filesystem::path&) = nullptr;

UserError error(const std::string& path, const std::string& message, const std::string& hint = rebuild) {
  return UserError(ExitCode::usage, path + ": " + message, hint);
}

// An absolute path keeps dlopen from searching the library folders for a bare name.
void* try_open(const std::string& path) {
  return dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// The plugins whose parts the registries have.
struct Opened {
  Mutex mutex;
  std::set<const void*> handles FT_GUARDED_BY(mutex);
  std::vector<AddedPart> parts FT_GUARDED_BY(mutex);
};

Opened& opened() {
  static Opened all;
  return all;
}

void* open_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw error(path, "no such file", "relative paths start at the working directory");
  if (void* handle = try_open(path)) return handle;
  const std::string reason = dlerror();
  if (torch_loader) {
    torch_loader();
    if (void* handle = try_open(path)) return handle;
    throw error(path, concat("cannot be loaded: ", dlerror()));
  }
  if (reason.find("undefined symbol") != std::string::npos)
    throw error(path, concat("cannot be loaded: ", reason), no_symbols);
  throw error(path, concat("cannot be loaded: ", reason));
}

void check_build(const std::string& path, const PluginInfo& info) {
  if (info.version != plugin_version)
    throw error(path,
                concat("built for interface version ", info.version, ", this flowtrain has version ", plugin_version));
  if (std::string(info.compiler) != __VERSION__)
    throw error(path, concat("built by compiler ", info.compiler, ", this flowtrain by ", __VERSION__));
#ifdef FLOWTRAIN_TORCH_VERSION
  if (std::string(info.torch) != "" && std::string(info.torch) != FLOWTRAIN_TORCH_VERSION)
    throw error(path, concat("built with LibTorch ", info.torch, ", this flowtrain with ", FLOWTRAIN_TORCH_VERSION));
#endif
}

/// Returns the names by kind, in the order of part_kinds().
std::vector<std::vector<std::string>> all_names() {
  std::vector<std::vector<std::string>> names;
  for (auto& kind : part_kinds()) names.push_back(kind.names());
  return names;
}

std::vector<AddedPart> added_since(const std::vector<std::vector<std::string>>& before) {
  std::vector<AddedPart> added;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const PartKind& kind = part_kinds()[i];
    if (kind.title.empty()) continue;  // [[data.source]]: as [data] and [order]
    for (auto& name : kind.names())
      if (std::ranges::find(before[i], name) == before[i].end()) added.push_back({kind, name});
  }
  return added;
}

// Otherwise a key of the table would be taken for the key of the part.
void check_keys(const std::string& path, const std::vector<AddedPart>& added) {
  for (auto& [kind, name] : added)
    for (auto& own : kind.at(name).keys)
      for (auto& other : part_kinds())
        if (const Key* key = other.kind == kind.kind ? find_key(core_keys(other.table), own.name) : nullptr)
          throw error(
              path,
              concat("the key '", own.name, "' of its ", kind.kind, " '", name, "' is one that the table has already"),
              concat("give the plugin's key another name; the table's is: ", key->help));
}

void add_c_sampler(const std::string& path) {
  auto plugin = std::make_shared<const SamplerPlugin>(path);
  samplers().add(
      {plugin->name(), plugin->help(), plugin->keys(),
       [plugin](const Settings& settings, const SamplerInput& input) { return plugin->make(settings, input); }});
}

}  // namespace

void set_plugin_guard(void (*guard)(const std::filesystem::path&, const std::filesystem::path&)) {
  plugin_guard = guard;
}

void guard_plugin(const std::filesystem::path& config, const std::filesystem::path& plugin) {
  if (plugin_guard) plugin_guard(config, plugin);
}

void set_torch_loader(void (*load)()) { torch_loader = load; }

std::vector<AddedPart> open_plugin(const std::string& path) {
  void* const handle = open_file(path);
  Opened& all = opened();
  const MutexLock lock(all.mutex);
  if (all.handles.contains(handle)) return {};
  const auto before = all_names();
  const auto entry = reinterpret_cast<const PluginInfo* (*)()>(dlsym(handle, "flowtrain_plugin"));
  if (!entry && !dlsym(handle, "flowtrain_sampler_plugin"))
    throw error(path, "exports neither flowtrain_plugin nor flowtrain_sampler_plugin",
                "end its source with FLOWTRAIN_PLUGIN(function), or FLOWTRAIN_SAMPLER_PLUGIN(…)");
  try {
    if (entry) {
      check_build(path, *entry());
      entry()->add();
    } else {
      add_c_sampler(path);
    }
  } catch (const InternalError& taken) {
    throw error(path, taken.what(), "choose names that are free: `flowtrain plugins` lists those that are taken");
  }
  std::vector<AddedPart> added = added_since(before);
  check_keys(path, added);
  all.handles.insert(handle);
  for (auto& part : added) all.parts.push_back(part);
  return added;
}

void forget_plugins() {
  Opened& all = opened();
  const MutexLock lock(all.mutex);
  for (auto& [kind, name] : all.parts) kind.remove(name);
  all.parts.clear();
  all.handles.clear();
}

}  // namespace flowtrain
