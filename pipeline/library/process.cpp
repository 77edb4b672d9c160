#include "pipeline/library/process.h"

#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <string>
#include <utility>

#include "pipeline/base/config/plugins.h"
#include "pipeline/base/snapshot/file.h"
#include "pipeline/base/snapshot/manifest.h"
#include "pipeline/base/snapshot/snapshot_files.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/library/computing.h"
#include "sampling/core/error.h"
#include "sampling/core/mutex.h"
#include "sampling/core/text.h"
#include "sampling/core/warning.h"
#include "stages/system/file_limit.h"

namespace flowtrain {
namespace {

// Returns whether the file belongs to another user who is not root.
bool is_anothers(const std::filesystem::path& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 && status.st_uid != ::geteuid() && status.st_uid != 0;
}

// Checks a configuration's plugins before they run: damaged snapshots are refused, other users' code is named.
void guard_plugins(const std::filesystem::path& config, const std::filesystem::path& plugin) {
  static Mutex& mutex = *new Mutex;
  static auto& known = *new std::set<std::pair<std::filesystem::path, std::filesystem::path>>;
  const MutexLock lock(mutex);
  if (known.contains({config, plugin})) return;
  std::error_code error;
  if (const auto folder = folder_of(config); std::filesystem::exists(folder / manifest_name, error))
    if (const auto problems = verify_snapshot(folder); !problems.empty())
      throw UserError(
          ExitCode::snapshot,
          concat(folder.string(), ": ", problems.front(), "; its plugin ", plugin.string(), " is not opened"),
          "use another snapshot: --iter N");
  if (is_anothers(config) || is_anothers(plugin))
    log_warn(concat("opening the plugin ", plugin.string(), " of ", config.string(),
                    "; it is code, and one of these files belongs to another user"));
  known.insert({config, plugin});
}

}  // namespace

void prepare_process() {
  raise_file_limit();
  if (!warning_sink) set_warning_sink([](const std::string& text) { log_warn(text); });
  set_plugin_guard(guard_plugins);
  set_torch_loader([] { computing_parts(); });
}

}  // namespace flowtrain
