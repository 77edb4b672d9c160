// Separable, in 16-bit fixed point, one output row at a time. Rows are summed first: that loop runs along whole rows,
// which compilers vectorise, and leaves the fewest rows to the other one.
#include "sampling/images/resize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace flowtrain {
namespace {

constexpr int weight_bits = 14;  // 1.0 = 2^14, so that a weight fits 16 bits
constexpr int row_bits = 7;      // fraction bits of a row between the two sums: 255 · 2^7 fits 16 bits

/// The input pixels that make up each output pixel along one axis, and their weights.
struct Taps {
  struct Span {
    int first, count;
  };
  std::vector<Span> spans;             // one per output pixel
  std::vector<std::int16_t> weights;   // `most` per output pixel
  std::vector<double> unscaled;
  int most = 0;                        // the largest count there can be

  const std::int16_t* of(int i) const { return weights.data() + static_cast<std::size_t>(i * most); }

  /// `length` pixels of an axis of `end` pixels, from `start` on, become `count` pixels.
  void build(int end, double start, double length, int count) {
    const double step = length / count;
    const double support = std::max(step, 1.0);  // half the triangle's width; wider than 1 where it shrinks
    most = static_cast<int>(std::ceil(support)) * 2 + 1;
    spans.resize(static_cast<std::size_t>(count));
    weights.resize(static_cast<std::size_t>(count) * static_cast<std::size_t>(most));
    unscaled.resize(static_cast<std::size_t>(most));
    for (int i = 0; i < count; ++i) {
      const double centre = start + (i + 0.5) * step;
      const int first = std::clamp(static_cast<int>(centre - support + 0.5), 0, end - 1);
      const int last = std::clamp(static_cast<int>(centre + support + 0.5), first + 1, end);
      spans[static_cast<std::size_t>(i)] = {first, last - first};
      fill(i, centre, support);
    }
  }

 private:
  void fill(int i, double centre, double support) {
    const auto [first, count] = spans[static_cast<std::size_t>(i)];
    double sum = 0;
    for (int k = 0; k < count; ++k) {
      const double weight = std::max(0.0, 1 - std::abs(first + k - centre + 0.5) / support);
      unscaled[static_cast<std::size_t>(k)] = weight;
      sum += weight;
    }
    // Rounding up the running sum instead of each weight makes them add up to one exactly: flat areas stay flat.
    std::int16_t* scaled = weights.data() + static_cast<std::size_t>(i * most);
    double running = 0;
    int given = 0;
    for (int k = 0; k < count; ++k) {
      running += unscaled[static_cast<std::size_t>(k)];
      const int upto = static_cast<int>(std::lround(running / sum * (1 << weight_bits)));
      scaled[k] = static_cast<std::int16_t>(upto - given);
      given = upto;
    }
  }
};

/// Sums `count` rows of `bytes` bytes, weighted, into `out` with row_bits of fraction; `sums` is scratch.
void sum_rows(const std::uint8_t* row, std::size_t stride_bytes, const std::int16_t* weights, int count, int bytes,
              std::int32_t* __restrict sums, std::int16_t* __restrict out) {
  constexpr int shift = weight_bits - row_bits;
  std::fill(sums, sums + bytes, 1 << (shift - 1));
  for (int k = 0; k < count; ++k, row += stride_bytes) {
    const std::int16_t weight = weights[k];
    for (int i = 0; i < bytes; ++i) sums[i] += static_cast<std::int16_t>(row[i]) * weight;
  }
  for (int i = 0; i < bytes; ++i) out[i] = static_cast<std::int16_t>(sums[i] >> shift);
}

template <int channels>
void sum_columns(const std::int16_t* row, int first_column, const Taps& taps, int width, std::uint8_t* out) {
  constexpr int shift = weight_bits + row_bits;
  for (int x = 0; x < width; ++x, out += channels) {
    const auto [first, count] = taps.spans[static_cast<std::size_t>(x)];
    const std::int16_t* weights = taps.of(x);
    const std::int16_t* from = row + (first - first_column) * channels;
    std::int32_t sums[channels];
    for (auto& sum : sums) sum = 1 << (shift - 1);
    for (int k = 0; k < count; ++k)
      for (int c = 0; c < channels; ++c) sums[c] += from[k * channels + c] * weights[k];
    for (int c = 0; c < channels; ++c) out[c] = static_cast<std::uint8_t>(sums[c] >> shift);
  }
}

}  // namespace

void resize(const Picture& in, const Rect& from, int height, int width, std::uint8_t* out) {
  const std::size_t out_row_bytes = static_cast<std::size_t>(width * in.channels);
  const bool whole_pixels = from.x == std::floor(from.x) && from.y == std::floor(from.y);
  if (from.width == width && from.height == height && whole_pixels)  // nothing to filter
    return copy_window(in, static_cast<int>(from.x), static_cast<int>(from.y), height, width, out);

  thread_local Taps down, across;
  thread_local std::vector<std::int32_t> sums;
  thread_local std::vector<std::int16_t> row;
  down.build(in.height, from.y, from.height, height);
  across.build(in.width, from.x, from.width, width);
  const int first_column = across.spans.front().first;
  const int columns = across.spans.back().first + across.spans.back().count - first_column;
  const int bytes = columns * in.channels;
  sums.resize(static_cast<std::size_t>(bytes));
  row.resize(static_cast<std::size_t>(bytes));
  for (int y = 0; y < height; ++y, out += out_row_bytes) {
    const auto [first, count] = down.spans[static_cast<std::size_t>(y)];
    sum_rows(in.row(first) + first_column * in.channels, in.stride_bytes, down.of(y), count, bytes, sums.data(),
             row.data());
    if (in.channels == 3)
      sum_columns<3>(row.data(), first_column, across, width, out);
    else
      sum_columns<1>(row.data(), first_column, across, width, out);
  }
}

}  // namespace flowtrain
