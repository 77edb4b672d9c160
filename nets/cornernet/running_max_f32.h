#pragma once
// Running maxima of floats in the widest vectors that this processor has. Within nets/cornernet.

#include <cstdint>

namespace flowtrain::nets::cornernet {

/// Some sequences side by side. They lie side by side in memory too (lane_stride 1), so that a row of them is scanned
/// at a time, or each is a stretch of memory of its own (step_stride 1 or -1).
struct Tile {
  std::int64_t begin = 0;  ///< where the scan of the first one starts
  std::int64_t lanes = 0, lane_stride = 0;
  std::int64_t steps = 0, step_stride = 0;  ///< the stride is negative where the scan runs backwards

  /// The same from the other end.
  Tile reversed() const { return {begin + (steps - 1) * step_stride, lanes, lane_stride, steps, -step_stride}; }
};

/// The most lanes of a tile whose rows are scanned: the state of a scan stays in the first cache.
constexpr std::int64_t most_lanes = 2048;

/// y takes the largest element met so far, `replaced`, unless null, 1 where that is a new one and 0 elsewhere.
/// `past_caches`: y is too large to be found there again, so it is written to memory directly, which spares reading it.
/// False where x has a NaN: then y and `replaced` are to be written again.
bool scan_max_f32(const float* x, float* y, std::uint8_t* replaced, const Tile& tile, bool past_caches);

}  // namespace flowtrain::nets::cornernet
