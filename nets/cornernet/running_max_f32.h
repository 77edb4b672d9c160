#pragma once
// Running maxima of floats in the widest vectors that this processor has. Only nets/cornernet includes this file.

#include <cstdint>

namespace flowtrain::nets::cornernet {

/// Some sequences side by side. Either they are adjacent in memory (lane_stride 1), so that a row of them is scanned at
/// a time, or each one is contiguous (step_stride 1 or -1).
struct Tile {
  std::int64_t begin = 0;  ///< index at which the scan of the first sequence starts
  std::int64_t lanes = 0, lane_stride = 0;
  std::int64_t steps = 0, step_stride = 0;  ///< the stride is negative if the scan runs backwards

  /// Returns the tile of the scan from the other end.
  Tile reversed() const { return {begin + (steps - 1) * step_stride, lanes, lane_stride, steps, -step_stride}; }
};

/// The largest number of lanes of a tile whose rows are scanned: the state of a scan then fits the first cache.
constexpr std::int64_t most_lanes = 2048;

/// Writes the largest element met so far to y and, unless `replaced` is null, 1 to it at each new maximum and 0
/// elsewhere. `past_caches`: y is too large to stay in a cache, so it is written to memory directly, which saves
/// reading it. Returns false if x has a NaN; then y and `replaced` must be written again.
bool scan_max_f32(const float* x, float* y, std::uint8_t* replaced, const Tile& tile, bool past_caches);

}  // namespace flowtrain::nets::cornernet
