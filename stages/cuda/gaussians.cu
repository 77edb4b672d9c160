#include "stages/cuda/kernels.h"

#include <algorithm>

#include "stages/cuda/handles.h"

namespace flowtrain::cuda {
namespace {

constexpr unsigned block_threads = 128;
constexpr std::int64_t max_blocks = 1 << 16;  // the loops below do the rest
constexpr int columns = 7;

/// Uses a block for each bump, and a thread for each cell of its square that lies on the map.
__global__ void draw(const std::int32_t* __restrict__ gaussians, std::int64_t rows, int corner,
                     float* __restrict__ heat, float* __restrict__ valid, Maps maps) {
  const std::int64_t cells = std::int64_t{maps.height} * maps.width;
  for (std::int64_t row = blockIdx.x; row < maps.pictures * rows; row += gridDim.x) {
    const std::int32_t* const gaussian = gaussians + row * columns;
    if (gaussian[0] < 0 || gaussian[0] >= maps.classes) continue;
    const std::int64_t x = gaussian[corner], y = gaussian[corner + 1], radius = gaussian[5];
    const bool shown = gaussian[6] != 0;
    if (!shown && !valid) continue;
    const std::int64_t left = max(x - radius, std::int64_t{0}), right = min(x + radius, std::int64_t{maps.width - 1});
    const std::int64_t top = max(y - radius, std::int64_t{0}), bottom = min(y + radius, std::int64_t{maps.height - 1});
    if (right < left || bottom < top) continue;
    const std::int64_t across = right - left + 1, count = across * (bottom - top + 1);
    const double sigma = (2 * radius + 1) / 6.0, scale = -1 / (2 * sigma * sigma);
    float* const map = (shown ? heat : valid) + (row / rows * maps.classes + gaussian[0]) * cells;
    for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) {
      const std::int64_t column = left + i % across, line = top + i / across;
      float* const cell = map + line * maps.width + column;
      if (!shown) {
        *cell = 0;
        continue;
      }
      const double dx = static_cast<double>(column - x), dy = static_cast<double>(line - y);
      const float value = static_cast<float>(exp(dx * dx * scale) * exp(dy * dy * scale));
      atomicMax(reinterpret_cast<int*>(cell), __float_as_int(value));  // floats of 0 and more are ordered as their bits
    }
  }
}

}  // namespace

void draw_gaussians(const std::int32_t* gaussians, std::int64_t rows, int corner, float* heat, float* valid,
                    const Maps& maps, cudaStream_t stream) {
  const std::int64_t blocks = std::min(maps.pictures * rows, max_blocks);
  if (blocks == 0) return;  // a launch of no blocks is an error
  draw<<<static_cast<unsigned>(blocks), block_threads, 0, stream>>>(gaussians, rows, corner, heat, valid, maps);
  check(cudaGetLastError(), "launch of drawing heat maps");
}

}  // namespace flowtrain::cuda
