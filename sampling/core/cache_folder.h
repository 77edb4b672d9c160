#pragma once
// The folder in which files are kept that can be made again.

#include <cstdlib>
#include <filesystem>

namespace flowtrain {

/// Returns the folder flowtrain/`name` in XDG_CACHE_HOME or ~/.cache; empty if neither is known.
inline std::filesystem::path cache_folder(const char* name) {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return std::filesystem::path(cache) / "flowtrain" / name;
  if (const char* home = std::getenv("HOME"); home && *home)
    return std::filesystem::path(home) / ".cache" / "flowtrain" / name;
  return {};
}

}  // namespace flowtrain
