#pragma once
// The kernels, as their callers see them. All pointers are to device memory unless stated otherwise. The results are
// specified in sampling/images/pixel_rule.h, nets/cornernet/running_max.h and nets/cornernet/gaussians.h.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "sampling/images/pixel_rule.h"

namespace flowtrain::cuda {

/// Enqueues to[i, c] = (from[i, c] / 255 - mean[c]) / stddev[c], all in f32, correctly rounded: the same bits as the
/// expression on the CPU. from: (count, channels) u8, to: (count, channels) f32, both on the device; mean, stddev: on
/// the host, read before it returns. Throws std::invalid_argument unless 1 ≤ channels ≤ 4.
void normalise(const std::uint8_t* from, float* to, std::size_t count, int channels, const float* mean,
               const float* stddev, cudaStream_t stream);

/// Enqueues the mean grey levels of (rows, height, width, 3) u8 pictures, to `to`. Both are on the device. Throws
/// std::invalid_argument for other channels.
void measure_grey(const std::uint8_t* from, float* to, std::size_t rows, const PictureShape& shape,
                  cudaStream_t stream);

/// Enqueues one pass from `from`, (rows, height, width, channels) u8, to `to`, f32 of the same order: the CPU's bits.
/// Both, `batch_augment.rows` and `batch_augment.grey` are on the device; the rule is read before it returns. Throws
/// std::invalid_argument unless 1 ≤ channels ≤ 4.
void mix_pixels(const std::uint8_t* from, float* to, std::size_t rows, const PictureShape& shape, const PixelRule& rule,
                const PixelMix& mix, cudaStream_t stream);

/// A dense block of memory as (lines, length, inner); see nets/cornernet/running_max.h.
struct Lines {
  std::int64_t lines = 0, length = 0, inner = 0;
  bool backwards = false;
};

/// Enqueues the running maximum of x as y, and marks each element that was a new one in `replaced` unless that is null.
/// T is float, double, __half or __nv_bfloat16; all are on the device and do not overlap. Every element is read and
/// written once. The result does not depend on how the work is split.
template <class T>
void running_max(const T* x, T* y, std::uint8_t* replaced, const Lines& lines, cudaStream_t stream);

/// Enqueues the gradient gx of x from the gradient g of y. It uses no atomics: the bits are equal every time.
template <class T>
void running_max_backward(const T* g, const std::uint8_t* replaced, T* gx, const Lines& lines, cudaStream_t stream);

/// Maps of a batch: (pictures, classes, height, width) floats on the device.
struct Maps {
  std::int64_t pictures = 0, classes = 0;
  int height = 0, width = 0;
};

/// Enqueues drawing one corner of all `gaussians`, (pictures, rows, 7), x and y in the columns `corner` and the next,
/// on `heat`, filled with 0, and unless null on `valid`, filled with 1. The bits are equal every time, since a maximum
/// does not depend on order.
void draw_gaussians(const std::int32_t* gaussians, std::int64_t rows, int corner, float* heat, float* valid,
                    const Maps& maps, cudaStream_t stream);

}  // namespace flowtrain::cuda
