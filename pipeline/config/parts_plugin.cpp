#include "pipeline/config/parts_plugin.h"

#include <dlfcn.h>

#include <filesystem>
#include <set>
#include <system_error>

#include "sampling/core/error.h"
#include "sampling/core/mutex.h"
#include "sampling/core/say.h"

namespace flowtrain {

bool add_parts(const std::string& path) {
  static Mutex mutex;
  static std::set<const PartsPlugin*> added FT_GUARDED_BY(mutex);
  const auto error = [&](const std::string& message, const std::string& hint) {
    return UserError(Exit::usage, path + ": " + message, hint);
  };
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw error("no such file", "relative paths start at the working directory");
  // An absolute path keeps dlopen from searching the library folders for a bare name.
  void* handle = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  const std::string rebuild = "build it with this flowtrain's headers and its compiler: sampling/plugins/README.md";
  if (!handle) throw error(say("cannot be loaded: ", dlerror()), rebuild);
  const auto entry = reinterpret_cast<const PartsPlugin* (*)()>(dlsym(handle, "flowtrain_parts_plugin"));
  if (!entry) return false;
  const PartsPlugin* plugin = entry();
  if (plugin->version != kPartsVersion)
    throw error(say("built for interface version ", plugin->version, ", this flowtrain has version ", kPartsVersion),
                rebuild);
  if (std::string(plugin->built_by) != FLOWTRAIN_PARTS_BUILD)
    throw error(say("built by ", plugin->built_by, ", this flowtrain by ", FLOWTRAIN_PARTS_BUILD), rebuild);
  const MutexLock lock(mutex);
  if (!added.insert(plugin).second) return true;
  try {
    plugin->add();
  } catch (const std::exception& taken) {
    throw error(taken.what(), "choose names that are free: `flowtrain plugins` lists those that are taken");
  }
  return true;
}

}  // namespace flowtrain
