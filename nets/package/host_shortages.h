#pragma once
// Shortages of host memory in compiled code, which tells of them on stderr alone.

#include <cstdint>

namespace flowtrain::nets {

/// How often LibTorch has had no host memory for a tensor since the first call.
std::int64_t host_shortages();

}  // namespace flowtrain::nets
