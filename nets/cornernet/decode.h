#pragma once
// Decodes corner maps into boxes (H. Law, J. Deng, "CornerNet", ECCV 2018). Order and rejections are those of the
// reference implementation, princeton-vl/CornerNet-Lite.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace flowtrain::nets {

/// The head maps of one stack as the net gives them: heats before the sigmoid (B, C, H, W), tags (B, 1, H, W), offsets
/// in x and y (B, 2, H, W), f32.
struct CornerMaps {
  at::Tensor tl_heat, br_heat, tl_tag, br_tag, tl_off, br_off;
};

struct DecodeOptions {
  std::int64_t top_k = 100;      ///< number of corners of each kind, over all classes
  std::int64_t nms_kernel = 3;   ///< side of the window in which a corner is the largest, in cells; odd
  double ae_threshold = 0.5;     ///< largest difference of a pair's tags
  std::int64_t num_dets = 1000;  ///< number of pairs that are kept
  bool no_border = false;        ///< refuses boxes that touch the map's outermost cells
};

/// Returns (B, num_dets, 8) f32: x0, y0, x1, y1 in cells, score (the corners' mean), tl_score, br_score, class from 0;
/// best first. Rejected pairs have score -1 and fill the end. Throws std::invalid_argument for more corners than cells,
/// more detections than pairs, and an even kernel.
at::Tensor decode(const CornerMaps& maps, const DecodeOptions& options);

/// Reads `map` (B, C, H, W) at the cells `index` (B, N) i64, which are counted row by row: (B, N, C).
inline at::Tensor at_cells(const at::Tensor& map, const at::Tensor& index) {
  const auto cells = index.unsqueeze(1).expand({index.size(0), map.size(1), index.size(1)});
  return map.flatten(2).gather(2, cells).transpose(1, 2);
}

}  // namespace flowtrain::nets
