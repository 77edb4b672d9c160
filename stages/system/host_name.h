#pragma once
// The name of this machine.

#include <unistd.h>

#include <string>

namespace flowtrain {

/// This machine's name, as its system has it; "?" where it has none.
inline std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "?";
}

}  // namespace flowtrain
