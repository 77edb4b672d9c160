#pragma once

#include <unistd.h>

#include <string>

namespace flowtrain {

/// Returns this machine's name; "?" if it has none.
inline std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "?";
}

}  // namespace flowtrain
