#include "stages/cuda/kernels.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "stages/cuda/handles.h"

namespace flowtrain::cuda {
namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned warp = 32;
constexpr unsigned whole_warp = 0xffffffffu;
constexpr std::int64_t max_blocks = 1 << 16;  // the loops below do the rest

/// The type in which values are compared and summed.
template <class T>
struct Wide {
  using type = float;
};
template <>
struct Wide<double> {
  using type = double;
};

template <class W>
__device__ bool replaces(W value, W largest) {
  return value > largest || value != value;  // the second condition finds NaN
}

/// Returns the place of scan step `step` in its line.
__device__ std::int64_t place(std::int64_t step, std::int64_t length, bool backwards) {
  return backwards ? length - 1 - step : step;
}

/// Uses a thread for each sequence: neighbours in a warp read neighbours in memory.
template <class T>
__global__ void scan_rows(const T* __restrict__ x, T* __restrict__ y, std::uint8_t* __restrict__ replaced, Lines all) {
  using W = typename Wide<T>::type;
  const std::int64_t sequences = all.lines * all.inner;
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < sequences; i += threads) {
    const std::int64_t base = i / all.inner * all.length * all.inner + i % all.inner;
    T largest{};
    for (std::int64_t step = 0; step < all.length; ++step) {
      const std::int64_t at = base + place(step, all.length, all.backwards) * all.inner;
      const T value = x[at];
      const bool wins = step == 0 || replaces(static_cast<W>(value), static_cast<W>(largest));
      if (wins) largest = value;
      y[at] = largest;
      if (replaced) replaced[at] = wins;
    }
  }
}

template <class T>
__global__ void sum_rows(const T* __restrict__ g, const std::uint8_t* __restrict__ replaced, T* __restrict__ gx,
                         Lines all) {
  using W = typename Wide<T>::type;
  const std::int64_t sequences = all.lines * all.inner;
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < sequences; i += threads) {
    const std::int64_t base = i / all.inner * all.length * all.inner + i % all.inner;
    W sum = 0;
    for (std::int64_t step = all.length; step-- > 0;) {
      const std::int64_t at = base + place(step, all.length, all.backwards) * all.inner;
      sum += static_cast<W>(g[at]);
      const bool ends = replaced[at] != 0;
      gx[at] = static_cast<T>(ends ? sum : W(0));
      if (ends) sum = 0;
    }
  }
}

/// Uses a warp for each line whose elements lie side by side, 32 at a time: a scan by shuffles with a carry.
template <class T>
__global__ void scan_lines(const T* __restrict__ x, T* __restrict__ y, std::uint8_t* __restrict__ replaced, Lines all) {
  using W = typename Wide<T>::type;
  const unsigned lane = threadIdx.x % warp;
  const std::int64_t warps = std::int64_t{gridDim.x} * blockDim.x / warp;
  for (std::int64_t line = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / warp; line < all.lines;
       line += warps) {
    W carried = 0;
    for (std::int64_t first = 0; first < all.length; first += warp) {
      const std::int64_t step = first + lane;
      const bool inside = step < all.length;
      const std::int64_t at = line * all.length + place(step, all.length, all.backwards);
      const W value = inside ? static_cast<W>(x[at]) : W(0);  // past the end: read by no lane that counts
      W largest = value;
      for (unsigned by = 1; by < warp; by *= 2) {
        const W earlier = __shfl_up_sync(whole_warp, largest, by);
        if (lane >= by && !replaces(largest, earlier)) largest = earlier;
      }
      if (first > 0 && !replaces(largest, carried)) largest = carried;
      W before = __shfl_up_sync(whole_warp, largest, 1);
      if (lane == 0) before = carried;
      if (inside) {
        y[at] = static_cast<T>(largest);
        if (replaced) replaced[at] = step == 0 || replaces(value, before);
      }
      carried = __shfl_sync(whole_warp, largest, warp - 1);
    }
  }
}

/// Sums from the end of the scan to its start; a sum begins anew after each element that replaced.
template <class T>
__global__ void sum_lines(const T* __restrict__ g, const std::uint8_t* __restrict__ replaced, T* __restrict__ gx,
                          Lines all) {
  using W = typename Wide<T>::type;
  const unsigned lane = threadIdx.x % warp;
  const std::int64_t warps = std::int64_t{gridDim.x} * blockDim.x / warp;
  for (std::int64_t line = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / warp; line < all.lines;
       line += warps) {
    W carried = 0;
    bool carried_ends = true;
    for (std::int64_t first = 0; first < all.length; first += warp) {
      const std::int64_t step = first + lane;
      const bool inside = step < all.length;
      const std::int64_t at = line * all.length + place(step, all.length, !all.backwards);
      W sum = inside ? static_cast<W>(g[at]) : W(0);
      const bool ends = inside && replaced[at] != 0;
      int begins = __shfl_up_sync(whole_warp, static_cast<int>(ends), 1);  // a sum begins here, or before here
      if (lane == 0) begins = carried_ends;
      for (unsigned by = 1; by < warp; by *= 2) {
        const W earlier = __shfl_up_sync(whole_warp, sum, by);
        const int began = __shfl_up_sync(whole_warp, begins, by);
        if (lane >= by) {
          if (!begins) sum += earlier;
          begins |= began;
        }
      }
      if (!begins) sum += carried;
      if (inside) gx[at] = static_cast<T>(ends ? sum : W(0));
      carried = __shfl_sync(whole_warp, sum, warp - 1);
      carried_ends = __shfl_sync(whole_warp, static_cast<int>(ends), warp - 1) != 0;
    }
  }
}

unsigned blocks_for(std::int64_t threads) {
  return static_cast<unsigned>(std::min((threads + block_threads - 1) / block_threads, max_blocks));
}

}  // namespace

template <class T>
void running_max(const T* x, T* y, std::uint8_t* replaced, const Lines& lines, cudaStream_t stream) {
  if (lines.lines * lines.length * lines.inner == 0) return;  // a launch of no blocks is an error
  if (lines.inner == 1) {
    scan_lines<<<blocks_for(lines.lines * warp), block_threads, 0, stream>>>(x, y, replaced, lines);
  } else {
    scan_rows<<<blocks_for(lines.lines * lines.inner), block_threads, 0, stream>>>(x, y, replaced, lines);
  }
  check(cudaGetLastError(), "launch of corner pooling");
}

template <class T>
void running_max_backward(const T* g, const std::uint8_t* replaced, T* gx, const Lines& lines, cudaStream_t stream) {
  if (lines.lines * lines.length * lines.inner == 0) return;
  if (lines.inner == 1) {
    sum_lines<<<blocks_for(lines.lines * warp), block_threads, 0, stream>>>(g, replaced, gx, lines);
  } else {
    sum_rows<<<blocks_for(lines.lines * lines.inner), block_threads, 0, stream>>>(g, replaced, gx, lines);
  }
  check(cudaGetLastError(), "launch of corner pooling's backward");
}

#define FLOWTRAIN_FOR_TYPE(T)                                                            \
  template void running_max<T>(const T*, T*, std::uint8_t*, const Lines&, cudaStream_t); \
  template void running_max_backward<T>(const T*, const std::uint8_t*, T*, const Lines&, cudaStream_t);
FLOWTRAIN_FOR_TYPE(float)
FLOWTRAIN_FOR_TYPE(double)
FLOWTRAIN_FOR_TYPE(__half)
FLOWTRAIN_FOR_TYPE(__nv_bfloat16)
#undef FLOWTRAIN_FOR_TYPE

}  // namespace flowtrain::cuda
