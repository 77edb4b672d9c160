#pragma once
// Corners' heat maps on the GPU. What is drawn is said in nets/cornernet/bumps.h.

#include <cuda_runtime_api.h>

#include <cstdint>

namespace flowtrain::cuda {

/// Maps of a batch: (pictures, classes, height, width) floats on the device.
struct Maps {
  std::int64_t pictures = 0, classes = 0;
  int height = 0, width = 0;
};

/// Enqueues drawing one corner of all `bumps`, (pictures, rows, 7), x and y in the columns `corner` and the next, on
/// `heat`, filled with 0, and unless null on `valid`, filled with 1. The same bits every time: a maximum knows no
/// order.
void draw_gaussians(const std::int32_t* gaussians, std::int64_t rows, int corner, float* heat, float* valid,
                    const Maps& maps, cudaStream_t stream);

}  // namespace flowtrain::cuda
