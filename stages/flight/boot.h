#pragma once
// An id of the machine's current boot: monotonic clocks can be compared if it is equal.

#include <cstdint>
#include <fstream>
#include <string>

#include "sampling/core/random.h"

namespace flowtrain::flight {

/// Returns a hash of the boot id; 0 if the system has none.
inline std::uint64_t boot_hash() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  std::uint64_t hash = 0;
  for (const char each : id) hash = mix64(hash ^ static_cast<unsigned char>(each));
  return hash;
}

}  // namespace flowtrain::flight
