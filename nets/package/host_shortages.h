#pragma once
// Counts shortages of host memory in compiled code, which reports them on stderr only.

#include <cstdint>

namespace flowtrain::nets {

/// Returns how often LibTorch has had no host memory for a tensor since the first call.
std::int64_t host_shortages();

}  // namespace flowtrain::nets
