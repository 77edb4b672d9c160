#pragma once
// Corner pooling's running maxima on the GPU. What they compute is said in nets/cornernet/running_max.h.

#include <cuda_runtime_api.h>

#include <cstdint>

namespace flowtrain::cuda {

/// A dense block of memory as (lines, length, inner); see nets/cornernet/running_max.h.
struct Lines {
  std::int64_t lines = 0, length = 0, inner = 0;
  bool backwards = false;
};

/// Enqueues the running maximum of x as y, and which elements were a new one as `replaced`, unless null. T: float,
/// double, __half or __nv_bfloat16; all on the device, not overlapping. Every element is read and written once. The
/// result does not depend on how the work is split.
template <class T>
void running_max(const T* x, T* y, std::uint8_t* replaced, const Lines& lines, cudaStream_t stream);

/// Enqueues the gradient gx of x from that of y, g. No atomics: the same bits every time.
template <class T>
void running_max_backward(const T* g, const std::uint8_t* replaced, T* gx, const Lines& lines, cudaStream_t stream);

}  // namespace flowtrain::cuda
