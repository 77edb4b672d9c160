#pragma once
// Measures the size of a net.

#include <cstdint>

#include "nets/net.h"

namespace flowtrain::testing {

/// Its learnable tensors; buffers are not counted.
struct NetSize {
  std::int64_t tensors = 0;
  std::int64_t parameters = 0;  ///< elements of all of them
  std::int64_t bytes = 0;
};

inline NetSize summary(const nets::Net& net) {
  NetSize size;
  for (const auto& [name, tensor] : net.parameters()) {
    ++size.tensors;
    size.parameters += tensor.numel();
    size.bytes += static_cast<std::int64_t>(tensor.nbytes());
  }
  return size;
}

}  // namespace flowtrain::testing
