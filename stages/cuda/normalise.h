#pragma once
// Pixels to network input on the GPU.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace flowtrain::cuda {

/// Enqueues to[i, c] = (from[i, c] / 255 - mean[c]) / stddev[c], all in f32, correctly rounded: the same bits as the
/// expression on the CPU. from: (count, channels) u8, to: (count, channels) f32, both on the device; mean, stddev: on
/// the host, read before it returns. Throws std::invalid_argument unless 1 ≤ channels ≤ 4.
void normalise(const std::uint8_t* from, float* to, std::size_t count, int channels, const float* mean,
               const float* stddev, cudaStream_t stream);

}  // namespace flowtrain::cuda
