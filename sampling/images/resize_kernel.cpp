// Highway compiles this file once for each kind of vectors: https://google.github.io/highway. All numbers are integers
// of 16 bits, so that each kind gives the same bits: a level has seven bits of fraction, to which products are rounded.
//
// Rows are summed first, which leaves the fewest rows to the other sum. That one takes eight rows at once: they are
// turned so that a column's eight values are adjacent, and turned back at the end.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sampling/images/resize_kernel.cpp"
#include <hwy/foreach_target.h>  // must come first

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "sampling/images/resize_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace flowtrain::resizing::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int block_rows = 8;  // rows at once
constexpr int fraction = 7;

/// Returns the product of a level with fraction and a weight, rounded.
[[maybe_unused]] std::int16_t product(int value, int weight) {
  return static_cast<std::int16_t>((value * weight + (1 << 14)) >> 15);
}

[[maybe_unused]] std::int16_t plus(std::int16_t a, std::int16_t b) {
  return static_cast<std::int16_t>(std::min(a + b, 32767));
}

#if HWY_TARGET == HWY_SCALAR
void sum_rows(const std::uint8_t* rows, std::size_t stride_bytes, const std::int16_t* weights, int count,
              std::size_t bytes, std::int16_t* out) {
  for (std::size_t i = 0; i < bytes; ++i) {
    std::int16_t sum = 0;
    for (int k = 0; k < count; ++k)
      sum = plus(sum, product(rows[static_cast<std::size_t>(k) * stride_bytes + i] << fraction, weights[k]));
    out[i] = sum;
  }
}

void sum_column(const std::int16_t* values, std::size_t apart, const std::int16_t* weights, int count,
                std::int16_t* out) {
  for (int row = 0; row < block_rows; ++row) {
    std::int16_t sum = 0;
    for (int k = 0; k < count; ++k)
      sum = plus(sum, product(values[static_cast<std::size_t>(k) * apart + row], weights[k]));
    out[row] = sum;
  }
}

void turn(const std::int16_t* from, std::size_t from_apart, std::int16_t* to, std::size_t to_apart) {
  for (std::size_t i = 0; i < block_rows; ++i)
    for (std::size_t j = 0; j < block_rows; ++j) to[j * to_apart + i] = from[i * from_apart + j];
}

void put_levels(const std::int16_t* values, std::uint8_t* out) {
  for (int i = 0; i < block_rows; ++i)
    out[i] = static_cast<std::uint8_t>(std::clamp((plus(values[i], 1 << (fraction - 1))) >> fraction, 0, 255));
}
#else
/// Sums `bytes` columns of `count` rows. Reads no byte beyond the last row's end.
void sum_rows(const std::uint8_t* rows, std::size_t stride_bytes, const std::int16_t* weights, int count,
              std::size_t bytes, std::int16_t* out) {
  const hn::ScalableTag<std::int16_t> d;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  const std::size_t width = hn::Lanes(d);
  const auto one_vector = [&](std::size_t i) HWY_ATTR {
    auto sum = hn::Zero(d);
    const std::uint8_t* row = rows + i;
    for (int k = 0; k < count; ++k, row += stride_bytes) {
      const auto levels = hn::ShiftLeft<fraction>(hn::PromoteTo(d, hn::LoadU(d8, row)));
      sum = hn::SaturatedAdd(sum, hn::MulFixedPoint15(levels, hn::Set(d, weights[k])));
    }
    hn::StoreU(sum, d, out + i);
  };
  std::size_t i = 0;
  for (; i + width <= bytes; i += width) one_vector(i);
  if (i < bytes && bytes >= width) return one_vector(bytes - width);  // some are summed again
  for (; i < bytes; ++i) {
    std::int16_t sum = 0;
    for (int k = 0; k < count; ++k)
      sum = plus(sum, product(rows[static_cast<std::size_t>(k) * stride_bytes + i] << fraction, weights[k]));
    out[i] = sum;
  }
}

/// Sums `count` columns to one value of each of the eight rows.
HWY_INLINE void sum_column(const std::int16_t* values, std::size_t apart, const std::int16_t* weights, int count,
                           std::int16_t* out) {
  const hn::FixedTag<std::int16_t, block_rows> d;
  auto sum = hn::Zero(d);
  for (int k = 0; k < count; ++k, values += apart)
    sum = hn::SaturatedAdd(sum, hn::MulFixedPoint15(hn::Load(d, values), hn::Set(d, weights[k])));
  hn::Store(sum, d, out);
}

/// Turns 8 x 8 values: eight rows, `from_apart` values apart, become columns.
HWY_INLINE void turn(const std::int16_t* from, std::size_t from_apart, std::int16_t* to, std::size_t to_apart) {
  const hn::FixedTag<std::int16_t, 8> d;
  const hn::FixedTag<std::int32_t, 4> d32;
  const hn::FixedTag<std::int64_t, 2> d64;
  const auto row = [&](std::size_t i) HWY_ATTR { return hn::LoadU(d, from + i * from_apart); };
  const auto pair = [&](std::size_t i, auto& low, auto& high) HWY_ATTR {
    const auto a = row(i), b = row(i + 1);
    low = hn::BitCast(d32, hn::InterleaveLower(d, a, b));
    high = hn::BitCast(d32, hn::InterleaveUpper(d, a, b));
  };
  auto l01 = hn::Zero(d32), h01 = l01, l23 = l01, h23 = l01, l45 = l01, h45 = l01, l67 = l01, h67 = l01;
  pair(0, l01, h01), pair(2, l23, h23), pair(4, l45, h45), pair(6, l67, h67);
  const auto column = [&](std::size_t i, auto upper, auto lower) HWY_ATTR {  // columns i and i + 1, all eight rows
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, hn::BitCast(d64, upper), hn::BitCast(d64, lower))), d,
               to + i * to_apart);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, hn::BitCast(d64, upper), hn::BitCast(d64, lower))), d,
               to + (i + 1) * to_apart);
  };
  column(0, hn::InterleaveLower(d32, l01, l23), hn::InterleaveLower(d32, l45, l67));
  column(2, hn::InterleaveUpper(d32, l01, l23), hn::InterleaveUpper(d32, l45, l67));
  column(4, hn::InterleaveLower(d32, h01, h23), hn::InterleaveLower(d32, h45, h67));
  column(6, hn::InterleaveUpper(d32, h01, h23), hn::InterleaveUpper(d32, h45, h67));
}

/// Converts eight values to levels.
HWY_INLINE void put_levels(const std::int16_t* values, std::uint8_t* out) {
  const hn::FixedTag<std::int16_t, block_rows> d;
  const hn::FixedTag<std::uint8_t, block_rows> d8;
  const auto rounded = hn::SaturatedAdd(hn::LoadU(d, values), hn::Set(d, 1 << (fraction - 1)));
  hn::StoreU(hn::DemoteTo(d8, hn::ShiftRight<fraction>(rounded)), d8, out);
}
#endif

std::size_t rounded_up(std::size_t count) { return (count + block_rows - 1) / block_rows * block_rows; }

void resize(const std::uint8_t* in, std::size_t stride_bytes, int columns, int channels, const Taps& down,
            const Taps& across, std::uint8_t* out) {
  const auto pixel = static_cast<std::size_t>(channels);
  const std::size_t bytes = static_cast<std::size_t>(columns) * pixel, row = rounded_up(bytes);
  const std::size_t out_bytes = static_cast<std::size_t>(across.count()) * pixel;
  thread_local std::vector<std::int16_t> scratch;
  scratch.resize(std::max(scratch.size(), block_rows * (2 * row + rounded_up(out_bytes))));
  std::int16_t* const summed = scratch.data();             // (8, row)
  std::int16_t* const turned = summed + block_rows * row;  // (row, 8)
  std::int16_t* const ready = turned + block_rows * row;   // (out_bytes rounded up, 8)
  for (int y = 0; y < down.count(); y += block_rows) {
    const int rows = std::min(block_rows, down.count() - y);
    for (int i = 0; i < rows; ++i) {
      const auto [first, count] = down.spans[static_cast<std::size_t>(y + i)];
      sum_rows(in + static_cast<std::size_t>(first) * stride_bytes, stride_bytes,
               down.weights.data() + (y + i) * down.most, count, bytes, summed + static_cast<std::size_t>(i) * row);
    }
    for (std::size_t i = 0; i < row; i += block_rows) turn(summed + i, row, turned + i * block_rows, block_rows);
    std::int16_t* to = ready;
    const std::int16_t* weights = across.weights.data();
    for (const auto& [first, count] : across.spans) {
      const std::int16_t* from = turned + static_cast<std::size_t>(first) * pixel * block_rows;
      for (std::size_t c = 0; c < pixel; ++c, from += block_rows, to += block_rows)
        sum_column(from, pixel * block_rows, weights, count, to);
      weights += across.most;
    }
    HWY_ALIGN std::int16_t block[block_rows * block_rows];
    for (std::size_t i = 0; i < out_bytes; i += block_rows) {
      turn(ready + i * block_rows, block_rows, block, block_rows);
      for (int k = 0; k < rows; ++k) {
        std::uint8_t* const at = out + static_cast<std::size_t>(y + k) * out_bytes + i;
        if (i + block_rows <= out_bytes) {
          put_levels(block + k * block_rows, at);
        } else {
          std::uint8_t last[block_rows];
          put_levels(block + k * block_rows, last);
          std::memcpy(at, last, out_bytes - i);
        }
      }
    }
  }
}

}  // namespace flowtrain::resizing::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flowtrain::resizing {

HWY_EXPORT(resize);

void resize(const std::uint8_t* in, std::size_t stride_bytes, int columns, int channels, const Taps& down,
            const Taps& across, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(resize)(in, stride_bytes, columns, channels, down, across, out);
}

}  // namespace flowtrain::resizing
#endif
