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
constexpr std::size_t max_blocks_across = 1024;  // blocks of one picture; the loop below does the rest
constexpr std::size_t max_blocks_down = 65535;   // limit of a grid

struct Rule {
  float scale[max_channels], shift[max_channels], fill[max_channels];
};

/// Holds one value of one channel of a picture.
struct Value {
  unsigned index;  // place within the picture
  int x, y, channel;
};

__device__ bool inside(const PixelBox& box, const Value& value) {
  return value.x >= box.left && value.x < box.right && value.y >= box.top && value.y < box.bottom;
}

__device__ std::uint64_t mix64(std::uint64_t x) {  // the function of sampling/core/random.h
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Returns a byte in its picture's tinted colours.
__device__ std::uint8_t tinted(const std::uint8_t* picture, const Tint& tint, float grey, const Value& value) {
  const std::uint8_t* const pixel = picture + (value.index - value.channel);
  // The unrolled selection avoids indexing, as below.
  float m0 = tint.m[0][0], m1 = tint.m[0][1], m2 = tint.m[0][2];
#pragma unroll
  for (int i = 1; i < 3; ++i) {
    if (value.channel == i) {
      m0 = tint.m[i][0];
      m1 = tint.m[i][1];
      m2 = tint.m[i][2];
    }
  }
  const float colours =
      __fadd_rn(__fadd_rn(__fmul_rn(m0, static_cast<float>(pixel[0])), __fmul_rn(m1, static_cast<float>(pixel[1]))),
                __fmul_rn(m2, static_cast<float>(pixel[2])));
  const float level = __fadd_rn(colours, __fmul_rn(tint.lift, grey));
  return static_cast<std::uint8_t>(__float2int_rn(fminf(fmaxf(level, 0.0f), 255.0f)));
}

/// Returns the result for `byte`, a value of `picture`. It uses intrinsics, which the compiler never fuses into a
/// multiply-add: the CPU rounds after each step.
template <int Channels>
__device__ float finished(std::uint8_t byte, const std::uint8_t* picture, const RowMix& row, float grey,
                          const PixelMix& mix, const Value& value, const Rule& rule) {
  // The selection is unrolled: indexing by a run-time channel would move the rule to slow local memory.
  float scale = rule.scale[0], shift = rule.shift[0], fill = rule.fill[0];
#pragma unroll
  for (int i = 1; i < Channels; ++i) {
    if (value.channel == i) {
      scale = rule.scale[i];
      shift = rule.shift[i];
      fill = rule.fill[i];
    }
  }
  if (Channels == 3 && mix.tints) byte = tinted(picture, row.tint, grey, value);
  if (inside(row.erased, value)) {
    if (!mix.noise) return fill;
    byte = static_cast<std::uint8_t>(mix64(row.noise + noise_step * (value.index / 8 + 1)) >> (value.index % 8 * 8));
  }
  return __fadd_rn(__fmul_rn(static_cast<float>(byte), scale), shift);
}

/// `Size` neighbours, which are read and written at once.
template <class T, int Size>
struct alignas(sizeof(T) * Size) Group {
  T values[Size];
};

/// Blocks stand side by side within a picture, and under one another for the pictures. Threads that lie together write
/// values that lie together, each a group; `Size` divides a picture's values.
template <int Channels, int Size>
__global__ void mix_kernel(const std::uint8_t* __restrict__ from, float* __restrict__ to, std::size_t rows,
                           PictureShape shape, Rule rule, PixelMix mix) {
  using Bytes = Group<std::uint8_t, Size>;
  const unsigned values = static_cast<unsigned>(shape.height) * shape.width * Channels;
  const bool mixes = mix.own != 1 || mix.cut.left < mix.cut.right;
  for (std::size_t row = blockIdx.y; row < rows; row += gridDim.y) {
    const RowMix own = mix.rows[row], partner = mix.rows[own.partner];
    const std::uint8_t* const picture = from + row * values;
    const std::uint8_t* const other = from + static_cast<std::size_t>(own.partner) * values;
    const float grey = mix.tints ? mix.grey[row] : 0, other_grey = mix.tints ? mix.grey[own.partner] : 0;
    for (unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) * Size; first < values;
         first += gridDim.x * blockDim.x * Size) {
      const Bytes bytes = *reinterpret_cast<const Bytes*>(picture + first);
      const Bytes other_bytes = mixes ? *reinterpret_cast<const Bytes*>(other + first) : bytes;
      const unsigned pixel = first / Channels;
      Value value{first, static_cast<int>(pixel % shape.width), static_cast<int>(pixel / shape.width),
                  static_cast<int>(first % Channels)};
      Group<float, Size> results;
#pragma unroll
      for (int k = 0; k < Size; ++k) {
        const bool cut = inside(mix.cut, value);
        float result = cut ? finished<Channels>(other_bytes.values[k], other, partner, other_grey, mix, value, rule)
                           : finished<Channels>(bytes.values[k], picture, own, grey, mix, value, rule);
        if (mix.own != 1) {
          const float others = finished<Channels>(other_bytes.values[k], other, partner, other_grey, mix, value, rule);
          result = __fadd_rn(__fmul_rn(mix.own, result), __fmul_rn(1 - mix.own, others));
        }
        results.values[k] = result;
        ++value.index;
        if (++value.channel == Channels) {
          value.channel = 0;
          if (++value.x == shape.width) {
            value.x = 0;
            ++value.y;
          }
        }
      }
      *reinterpret_cast<Group<float, Size>*>(to + row * values + first) = results;
    }
  }
}

/// Uses a block for each picture in turn: each thread sums its share, then the block sums those.
__global__ void grey_kernel(const std::uint8_t* __restrict__ from, float* __restrict__ to, std::size_t rows,
                            unsigned pixels) {
  __shared__ unsigned long long sums[3];
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    if (threadIdx.x < 3) sums[threadIdx.x] = 0;
    __syncthreads();
    const std::uint8_t* const picture = from + row * pixels * 3;
    unsigned long long own[3] = {0, 0, 0};
    for (unsigned i = threadIdx.x; i < pixels; i += blockDim.x) {
#pragma unroll
      for (int c = 0; c < 3; ++c) own[c] += picture[3 * static_cast<std::size_t>(i) + c];
    }
#pragma unroll
    for (int c = 0; c < 3; ++c) atomicAdd(&sums[c], own[c]);
    __syncthreads();
    if (threadIdx.x == 0) {
      const double sum = __dadd_rn(
          __dadd_rn(__dmul_rn(0.299, static_cast<double>(sums[0])), __dmul_rn(0.587, static_cast<double>(sums[1]))),
          __dmul_rn(0.114, static_cast<double>(sums[2])));
      to[row] = static_cast<float>(__ddiv_rn(sum, static_cast<double>(pixels)));
    }
    __syncthreads();
  }
}

template <int Channels>
void launch(const std::uint8_t* from, float* to, std::size_t rows, const PictureShape& shape, const Rule& rule,
            const PixelMix& mix, cudaStream_t stream) {
  constexpr std::size_t size = 4;
  const std::size_t values = static_cast<std::size_t>(shape.height) * shape.width * Channels;
  const bool grouped = values % size == 0 && reinterpret_cast<std::uintptr_t>(from) % size == 0 &&
                       reinterpret_cast<std::uintptr_t>(to) % (size * sizeof(float)) == 0;
  const std::size_t threads = grouped ? values / size : values;
  const dim3 blocks(static_cast<unsigned>(std::min((threads + block_threads - 1) / block_threads, max_blocks_across)),
                    static_cast<unsigned>(std::min(rows, max_blocks_down)));
  if (grouped) {
    mix_kernel<Channels, size><<<blocks, block_threads, 0, stream>>>(from, to, rows, shape, rule, mix);
  } else {
    mix_kernel<Channels, 1><<<blocks, block_threads, 0, stream>>>(from, to, rows, shape, rule, mix);
  }
}

}  // namespace

void measure_grey(const std::uint8_t* from, float* to, std::size_t rows, const PictureShape& shape,
                  cudaStream_t stream) {
  if (shape.channels != 3) throw std::invalid_argument("colours: 3 channels, not " + std::to_string(shape.channels));
  if (rows == 0 || shape.height == 0 || shape.width == 0) return;
  grey_kernel<<<static_cast<unsigned>(std::min(rows, max_blocks_down)), block_threads, 0, stream>>>(
      from, to, rows, static_cast<unsigned>(shape.height) * static_cast<unsigned>(shape.width));
  check(cudaGetLastError(), "launch of grey_kernel");
}

void mix_pixels(const std::uint8_t* from, float* to, std::size_t rows, const PictureShape& shape, const PixelRule& rule,
                const PixelMix& mix, cudaStream_t stream) {
  if (shape.channels < 1 || shape.channels > max_channels)
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
