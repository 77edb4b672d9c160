#pragma once
// Pictures to network input on the GPU, erased and mixed on the way. What is computed is said in
// sampling/images/pixel_rule.h.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "sampling/images/pixel_rule.h"

namespace flowtrain::cuda {

/// Enqueues the mean grey levels of (rows, height, width, 3) u8 pictures, to `to`. Both are on the device. Throws
/// std::invalid_argument for other channels.
void measure_grey(const std::uint8_t* from, float* to, std::size_t rows, const PictureShape& shape,
                  cudaStream_t stream);

/// Enqueues one pass from `from`, (rows, height, width, channels) u8, to `to`, f32 of the same order: the CPU's bits.
/// Both, `batch_augment.rows` and `batch_augment.grey` are on the device; the rule is read before it returns. Throws
/// std::invalid_argument unless 1 ≤ channels ≤ 4.
void mix_pixels(const std::uint8_t* from, float* to, std::size_t rows, const PictureShape& shape, const PixelRule& rule,
                const PixelMix& mix, cudaStream_t stream);

}  // namespace flowtrain::cuda
