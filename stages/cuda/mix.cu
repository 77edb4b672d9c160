#include "stages/cuda/mix.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "stages/cuda/handles.h"

namespace flowtrain::cuda {
namespace {

constexpr int kMaxChannels = 4;
constexpr unsigned kThreads = 256;
constexpr std::size_t kMaxBlocksAcross = 1024;  // of one picture; the loop below does the rest
constexpr std::size_t kMaxBlocksDown = 65535;   // what a grid may have

struct Rule {
  float scale[kMaxChannels], shift[kMaxChannels], fill[kMaxChannels];
};

/// One value of one channel, of a picture whose bytes these are.
struct Value {
  unsigned index;  // within the picture
  int x, y, channel;
};

__device__ bool inside(const PixelBox& box, const Value& value) {
  return value.x >= box.left && value.x < box.right && value.y >= box.top && value.y < box.bottom;
}

__device__ std::uint64_t mix64(std::uint64_t x) {  // as in sampling/random.h
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// By the intrinsics, which the compiler makes no fused multiply-add of: the CPU rounds after each step.
template <int Channels>
__device__ float finished(const std::uint8_t* picture, const RowMix& row, bool noise, const Value& value,
                          const Rule& rule) {
  // An unrolled selection: indexing by a run-time channel would move the rule to slow local memory.
  float scale = rule.scale[0], shift = rule.shift[0], fill = rule.fill[0];
#pragma unroll
  for (int i = 1; i < Channels; ++i) {
    if (value.channel == i) {
      scale = rule.scale[i];
      shift = rule.shift[i];
      fill = rule.fill[i];
    }
  }
  std::uint8_t byte = picture[value.index];
  if (inside(row.erased, value)) {
    if (!noise) return fill;
    byte = static_cast<std::uint8_t>(mix64(row.noise + kNoiseStep * (value.index / 8 + 1)) >> (value.index % 8 * 8));
  }
  return __fadd_rn(__fmul_rn(static_cast<float>(byte), scale), shift);
}

/// Blocks stand side by side within a picture, and under one another for the pictures. Threads that lie together write
/// values that lie together.
template <int Channels>
__global__ void mix_kernel(const std::uint8_t* __restrict__ from, float* __restrict__ to, std::size_t rows,
                           PictureShape shape, Rule rule, PixelMix mix) {
  const unsigned values = static_cast<unsigned>(shape.height) * shape.width * Channels;
  for (std::size_t row = blockIdx.y; row < rows; row += gridDim.y) {
    const RowMix own = mix.rows[row], partner = mix.rows[own.partner];
    const std::uint8_t* const picture = from + row * values;
    const std::uint8_t* const other = from + static_cast<std::size_t>(own.partner) * values;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < values; i += gridDim.x * blockDim.x) {
      const unsigned pixel = i / Channels;
      const Value value{i, static_cast<int>(pixel % shape.width), static_cast<int>(pixel / shape.width),
                        static_cast<int>(i % Channels)};
      const bool cut = inside(mix.cut, value);
      float result = cut ? finished<Channels>(other, partner, mix.noise, value, rule)
                         : finished<Channels>(picture, own, mix.noise, value, rule);
      if (mix.own != 1)
        result = __fadd_rn(__fmul_rn(mix.own, result),
                           __fmul_rn(1 - mix.own, finished<Channels>(other, partner, mix.noise, value, rule)));
      to[row * values + i] = result;
    }
  }
}

template <int Channels>
void launch(const std::uint8_t* from, float* to, std::size_t rows, const PictureShape& shape, const Rule& rule,
            const PixelMix& mix, cudaStream_t stream) {
  const std::size_t values = static_cast<std::size_t>(shape.height) * shape.width * Channels;
  const dim3 blocks(static_cast<unsigned>(std::min((values + kThreads - 1) / kThreads, kMaxBlocksAcross)),
                    static_cast<unsigned>(std::min(rows, kMaxBlocksDown)));
  mix_kernel<Channels><<<blocks, kThreads, 0, stream>>>(from, to, rows, shape, rule, mix);
}

}  // namespace

void mix_pixels(const std::uint8_t* from, float* to, std::size_t rows, const PictureShape& shape, const PixelRule& rule,
                const PixelMix& mix, cudaStream_t stream) {
  if (shape.channels < 1 || shape.channels > kMaxChannels)
    throw std::invalid_argument("mix: 1 to 4 channels, not " + std::to_string(shape.channels));
  if (rows == 0 || shape.height == 0 || shape.width == 0) return;  // a launch of no blocks is an error
  Rule flat{};
  std::copy(rule.scale.begin(), rule.scale.end(), flat.scale);
  std::copy(rule.shift.begin(), rule.shift.end(), flat.shift);
  std::copy(rule.fill.begin(), rule.fill.end(), flat.fill);
  switch (shape.channels) {
    case 1: launch<1>(from, to, rows, shape, flat, mix, stream); break;
    case 2: launch<2>(from, to, rows, shape, flat, mix, stream); break;
    case 3: launch<3>(from, to, rows, shape, flat, mix, stream); break;
    default: launch<4>(from, to, rows, shape, flat, mix, stream);
  }
  check(cudaGetLastError(), "launch of mix_kernel");
}

}  // namespace flowtrain::cuda
