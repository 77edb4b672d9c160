#pragma once
// Expands paths that begin with "~" and that no shell has expanded.

#include <cstdlib>
#include <string>

#include "sampling/core/error.h"

namespace flowtrain {

/// Returns `path` with "~" or "~/" at its beginning replaced by $HOME. Throws UserError(usage) for "~user", and if HOME
/// is not set.
inline std::string expand_home(const std::string& path) {
  if (!path.starts_with('~')) return path;
  if (path.size() > 1 && path[1] != '/')
    throw UserError(ExitCode::usage, "'" + path + "': only ~ and ~/ are expanded, to your own home folder",
                    "write the whole path; a file whose name begins with ~ is ./" + path);
  const char* home = std::getenv("HOME");
  if (!home || !*home) throw UserError(ExitCode::usage, "'" + path + "': HOME is not set", "write the whole path");
  return home + path.substr(1);
}

}  // namespace flowtrain
