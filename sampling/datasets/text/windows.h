#pragma once
// Windows over a sequence of bytes or ids, for nets that learn each element from those before it.

#include <cstdint>

namespace flowtrain {

/// Returns the number of windows of `step` + 1 elements, of which the next one begins with the last element of the one
/// before it: each element but the first is the successor of another one in exactly one window.
inline std::uint64_t windows_of(std::uint64_t elements, std::uint64_t step) {
  return elements < 2 ? 0 : (elements - 2) / step + 1;
}

}  // namespace flowtrain
