#pragma once
// The time of day, for people to read. A run must not depend on it: it may be set at any moment.

#include <chrono>

namespace flowtrain {

/// Returns the seconds since 1970, by the machine's clock.
inline double wall_time_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace flowtrain
