#pragma once
// Which boot of which machine this is: monotonic clocks can be compared where it is the same.

#include <cstdint>
#include <fstream>
#include <string>

#include "sampling/core/random.h"

namespace flowtrain::flight {

/// A hash of the boot id; 0 where the system has none.
inline std::uint64_t boot_hash() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  std::uint64_t hash = 0;
  for (const char each : id) hash = mix64(hash ^ static_cast<unsigned char>(each));
  return hash;
}

}  // namespace flowtrain::flight
