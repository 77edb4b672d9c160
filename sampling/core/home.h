#pragma once
// "~" at the beginning of paths, in places that no shell has expanded.

#include <string>

namespace flowtrain {

/// `path` with "~" or "~/" at its beginning replaced by $HOME. Throws UserError(usage) for "~user", and where HOME is
/// not set.
std::string expand_home(const std::string& path);

}  // namespace flowtrain
