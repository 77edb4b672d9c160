#include "nets/cornernet/running_max.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "nets/cornernet/running_max_f32.h"
#include "nets/parallel.h"

namespace flowtrain::nets::cornernet {
namespace {

constexpr std::int64_t least_lanes = 256;        // sequences scanned side by side, if there are as many
constexpr std::int64_t lines_side_by_side = 16;  // number of sequences scanned side by side if each is contiguous
constexpr std::int64_t elements_per_task = 1 << 15;
constexpr std::size_t beyond_caches = 16 << 20;  // size in bytes above which a result will hardly stay in a cache

/// Returns the lanes of a tile: long rows are read best, as long as every thread has work.
std::int64_t lanes_of_rows(std::int64_t lines, std::int64_t inner) {
  std::int64_t lanes = most_lanes;
  while (lanes > least_lanes && lines * (inner / lanes) < 4 * at::get_num_threads()) lanes /= 2;
  return lanes;
}

/// Calls scan(tile) for tiles that cover all sequences, on torch's threads.
template <class Scan>
void for_each_tile(std::int64_t elements, std::int64_t length, std::int64_t inner, bool backwards, const Scan& scan) {
  if (elements == 0) return;
  const std::int64_t lines = elements / (length * inner);
  const bool rows = inner > 1;
  const std::int64_t across = rows ? inner : lines;  // sequences that may share a tile
  const std::int64_t lanes = rows ? lanes_of_rows(lines, inner) : lines_side_by_side;
  const std::int64_t tiles_across = (across + lanes - 1) / lanes;
  const std::int64_t tiles = tiles_across * (rows ? lines : 1);
  const std::int64_t grain = std::max<std::int64_t>(1, elements_per_task / (length * std::min(lanes, across)));
  parallel_for(0, tiles, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t turn = first; turn < last; ++turn) {
      const std::int64_t i = backwards ? first + last - 1 - turn : turn;  // memory is read in one direction
      const std::int64_t lane = i % tiles_across * lanes;
      Tile tile;
      tile.lanes = std::min(lanes, across - lane);
      tile.lane_stride = rows ? 1 : length;
      tile.steps = length;
      tile.step_stride = inner;
      tile.begin = i / tiles_across * length * inner + lane * tile.lane_stride;
      scan(backwards ? tile.reversed() : tile);
    }
  });
}

/// Scans values of every type, NaN included; `replaced` may be null.
template <std::int64_t LaneStride, class T>
void scan_max(const T* x, T* y, std::uint8_t* replaced, const Tile& tile) {
  const std::int64_t lane_stride = LaneStride > 0 ? LaneStride : tile.lane_stride;
  std::array<T, most_lanes> largest;
  for (std::int64_t lane = 0; lane < tile.lanes; ++lane) {
    const std::int64_t at = tile.begin + lane * lane_stride;
    largest[lane] = y[at] = x[at];
    if (replaced) replaced[at] = 1;
  }
  for (std::int64_t step = 1; step < tile.steps; ++step) {
    const std::int64_t row = tile.begin + step * tile.step_stride;
    const T* const from = x + row;
    T* const to = y + row;
    std::uint8_t* const marks = replaced ? replaced + row : nullptr;
#ifndef __clang__
#pragma GCC ivdep  // x, y and replaced do not overlap
#endif
    for (std::int64_t lane = 0; lane < tile.lanes; ++lane) {
      const T value = from[lane * lane_stride];
      const bool wins = static_cast<int>(value > largest[lane]) | static_cast<int>(value != value);  // the latter: NaN
      const T now = wins ? value : largest[lane];
      largest[lane] = now;
      to[lane * lane_stride] = now;
      if (marks) marks[lane * lane_stride] = wins;
    }
  }
}

/// Runs the fastest scan for the type.
template <class T>
void scan_best(const T* x, T* y, std::uint8_t* replaced, const Tile& tile, bool past_caches) {
  if constexpr (std::is_same_v<T, float>)
    if (scan_max_f32(x, y, replaced, tile, past_caches)) return;
  tile.lane_stride == 1 ? scan_max<1>(x, y, replaced, tile) : scan_max<0>(x, y, replaced, tile);
}

/// Computes the gradient. `tile` runs from the end of the scan to its start, so that each sum is complete in time.
template <std::int64_t LaneStride, class T>
void scan_gradient(const T* g, const std::uint8_t* replaced, T* gx, const Tile& tile) {
  using Sum = at::opmath_type<T>;
  const std::int64_t lane_stride = LaneStride > 0 ? LaneStride : tile.lane_stride;
  std::array<Sum, most_lanes> sums;
  std::fill_n(sums.begin(), tile.lanes, Sum(0));
  for (std::int64_t step = 0; step < tile.steps; ++step) {
    const std::int64_t row = tile.begin + step * tile.step_stride;
    const T* const from = g + row;
    T* const to = gx + row;
    const std::uint8_t* const marks = replaced + row;
#ifndef __clang__
#pragma GCC ivdep  // g, replaced and gx do not overlap
#endif
    for (std::int64_t lane = 0; lane < tile.lanes; ++lane) {
      const Sum sum = sums[lane] + static_cast<Sum>(from[lane * lane_stride]);
      const bool ends = marks[lane * lane_stride] != 0;
      to[lane * lane_stride] = static_cast<T>(ends ? sum : Sum(0));
      sums[lane] = ends ? Sum(0) : sum;
    }
  }
}

}  // namespace

void running_max_cpu(const at::Tensor& x, std::int64_t length, std::int64_t inner, bool backwards, at::Tensor& y,
                     const std::optional<at::Tensor>& replaced) {
  auto* const marks = replaced ? replaced->mutable_data_ptr<std::uint8_t>() : nullptr;
  const bool past_caches = y.nbytes() >= beyond_caches;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "running_max", [&] {
    const auto* const from = x.const_data_ptr<scalar_t>();
    auto* const to = y.mutable_data_ptr<scalar_t>();
    for_each_tile(x.numel(), length, inner, backwards,
                  [&](const Tile& tile) { scan_best(from, to, marks, tile, past_caches); });
  });
}

void running_max_backward_cpu(const at::Tensor& g, const at::Tensor& replaced, std::int64_t length, std::int64_t inner,
                              bool backwards, at::Tensor& gx) {
  const auto* const marks = replaced.const_data_ptr<std::uint8_t>();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, g.scalar_type(), "running_max_backward", [&] {
    const auto* const from = g.const_data_ptr<scalar_t>();
    auto* const to = gx.mutable_data_ptr<scalar_t>();
    for_each_tile(g.numel(), length, inner, !backwards, [&](const Tile& tile) {
      tile.lane_stride == 1 ? scan_gradient<1>(from, marks, to, tile) : scan_gradient<0>(from, marks, to, tile);
    });
  });
}

}  // namespace flowtrain::nets::cornernet
