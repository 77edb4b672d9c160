#include "stages/cuda/kernels.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "stages/cuda/handles.h"

namespace flowtrain::cuda {
namespace {

constexpr int max_channels = 4;
constexpr unsigned block_threads = 256;
constexpr std::size_t max_blocks = 4096;  // more than any GPU runs at once; the loop below does the rest

struct Statistics {
  float mean[max_channels];
  float stddev[max_channels];
};

template <int Channels>
__device__ float normalised(std::uint8_t value, int channel, const Statistics& statistics) {
  // The selection is unrolled: indexing by a run-time channel would move the statistics to slow local memory.
  float mean = statistics.mean[0];
  float stddev = statistics.stddev[0];
#pragma unroll
  for (int i = 1; i < Channels; ++i) {
    if (channel == i) {
      mean = statistics.mean[i];
      stddev = statistics.stddev[i];
    }
  }
  return (static_cast<float>(value) / 255.0f - mean) / stddev;
}

/// Handles the first `quads` groups of four values with 4-byte loads and 16-byte stores, and the values after them one
/// by one.
template <int Channels>
__global__ void normalise_kernel(const std::uint8_t* __restrict__ from, float* __restrict__ to, std::size_t values,
                                 std::size_t quads, Statistics statistics) {
  const std::size_t first = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t quad = first; quad < quads; quad += stride) {
    const uchar4 in = reinterpret_cast<const uchar4*>(from)[quad];
    const int channel = static_cast<int>(quad * 4 % Channels);
    float4 out;
    out.x = normalised<Channels>(in.x, channel, statistics);
    out.y = normalised<Channels>(in.y, (channel + 1) % Channels, statistics);
    out.z = normalised<Channels>(in.z, (channel + 2) % Channels, statistics);
    out.w = normalised<Channels>(in.w, (channel + 3) % Channels, statistics);
    reinterpret_cast<float4*>(to)[quad] = out;
  }
  for (std::size_t i = quads * 4 + first; i < values; i += stride) {
    to[i] = normalised<Channels>(from[i], static_cast<int>(i % Channels), statistics);
  }
}

template <int Channels>
void launch(const std::uint8_t* from, float* to, std::size_t count, const Statistics& statistics, cudaStream_t stream) {
  const std::size_t values = count * Channels;
  const bool aligned = reinterpret_cast<std::uintptr_t>(from) % alignof(uchar4) == 0 &&
                       reinterpret_cast<std::uintptr_t>(to) % alignof(float4) == 0;
  const std::size_t quads = aligned ? values / 4 : 0;
  const std::size_t work = aligned ? quads + 3 : values;
  const auto blocks = static_cast<unsigned>(std::min((work + block_threads - 1) / block_threads, max_blocks));
  normalise_kernel<Channels><<<blocks, block_threads, 0, stream>>>(from, to, values, quads, statistics);
}

}  // namespace

void normalise(const std::uint8_t* from, float* to, std::size_t count, int channels, const float* mean,
               const float* stddev, cudaStream_t stream) {
  if (channels < 1 || channels > max_channels) {
    throw std::invalid_argument("normalise: 1 to 4 channels, not " + std::to_string(channels));
  }
  if (count == 0) return;  // a launch of no blocks is an error
  Statistics statistics{};
  std::copy(mean, mean + channels, statistics.mean);
  std::copy(stddev, stddev + channels, statistics.stddev);
  switch (channels) {
    case 1: launch<1>(from, to, count, statistics, stream); break;
    case 2: launch<2>(from, to, count, statistics, stream); break;
    case 3: launch<3>(from, to, count, statistics, stream); break;
    default: launch<4>(from, to, count, statistics, stream);
  }
  check(cudaGetLastError(), "launch of normalise_kernel");
}

}  // namespace flowtrain::cuda
