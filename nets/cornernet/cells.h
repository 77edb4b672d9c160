#pragma once
// Reading maps at single cells.

#include <ATen/core/Tensor.h>

namespace flowtrain::nets {

/// `map` (B, C, H, W) at the cells `index` (B, N) i64, counted row by row: (B, N, C).
inline at::Tensor at_cells(const at::Tensor& map, const at::Tensor& index) {
  const auto cells = index.unsqueeze(1).expand({index.size(0), map.size(1), index.size(1)});
  return map.flatten(2).gather(2, cells).transpose(1, 2);
}

}  // namespace flowtrain::nets
