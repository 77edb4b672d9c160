// Highway compiles this file once for each kind of vectors: https://google.github.io/highway. Without NaNs a step is
// one maximum, which keeps the earlier one of equal values, as x86 takes the second operand. Vectors of eight floats
// are wide enough, because memory is the bottleneck.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nets/cornernet/running_max_f32.cpp"
#include <hwy/foreach_target.h>  // must come first

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "nets/cornernet/running_max_f32.h"

HWY_BEFORE_NAMESPACE();
namespace flowtrain::nets::cornernet::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
using Floats = hn::CappedTag<float, 8>;
using Vec = hn::Vec<Floats>;
using Mask = hn::Mask<Floats>;
constexpr std::int64_t width = hn::MaxLanes(Floats());
constexpr bool two_blocks = width == 8;  // most shuffles reach within blocks of four
constexpr float lowest = -std::numeric_limits<float>::infinity();

template <bool PastCaches>
HWY_INLINE void put(Vec values, float* to) {
  if constexpr (PastCaches)
    hn::Stream(values, Floats(), to);
  else
    hn::StoreU(values, Floats(), to);
}

/// Writes a byte for each lane: 1 if it wins.
HWY_INLINE void put_marks(Mask wins, std::uint8_t* to) {
  const hn::RebindToSigned<Floats> whole;
  const hn::Rebind<std::uint8_t, Floats> bytes;
  const auto ones = hn::And(hn::BitCast(whole, hn::VecFromMask(Floats(), wins)), hn::Set(whole, 1));
  hn::StoreU(hn::DemoteTo(bytes, ones), bytes, to);
}

/// Writes the marks of four consecutive vectors: they are the four bytes of each lane, to be transposed.
HWY_INLINE void put_marks(Mask a, Mask b, Mask c, Mask d, std::uint8_t* to) {
  const hn::RebindToUnsigned<Floats> whole;
  const hn::Repartition<std::uint8_t, Floats> bytes;
  const auto byte = [&](Mask wins, std::uint32_t one) HWY_ATTR {
    return hn::And(hn::BitCast(whole, hn::VecFromMask(Floats(), wins)), hn::Set(whole, one));
  };
  const auto lanes = hn::Or(hn::Or(byte(a, 1), byte(b, 1u << 8)), hn::Or(byte(c, 1u << 16), byte(d, 1u << 24)));
  HWY_ALIGN static constexpr std::uint8_t in_block[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
  auto marks = hn::TableLookupBytes(hn::BitCast(bytes, lanes), hn::LoadDup128(bytes, in_block));
  if constexpr (two_blocks) {
    HWY_ALIGN static constexpr std::int32_t blocks[8] = {0, 4, 1, 5, 2, 6, 3, 7};
    marks = hn::BitCast(bytes, hn::TableLookupLanes(hn::BitCast(whole, marks), hn::SetTableIndices(whole, blocks)));
  }
  hn::StoreU(marks, bytes, to);
}

/// Calls scan(place), which gives the mask of the winners, for every vector of the `count` elements from `low` on;
/// backwards it goes from the last one to the first. Memory is thus read in one direction, which the processor
/// prefetches.
template <bool Backwards, bool Marks, class Scan>
HWY_INLINE void for_vectors(std::int64_t low, std::int64_t count, std::uint8_t* replaced, const Scan& scan) {
  const auto place = [&](std::int64_t done) { return low + (Backwards ? count - width - done : done); };
  std::int64_t done = 0;
  for (; done + 4 * width <= count; done += 4 * width) {
    const Mask a = scan(place(done)), b = scan(place(done + width)), c = scan(place(done + 2 * width)),
               d = scan(place(done + 3 * width));
    if constexpr (Marks && Backwards) put_marks(d, c, b, a, replaced + place(done + 3 * width));
    if constexpr (Marks && !Backwards) put_marks(a, b, c, d, replaced + place(done));
  }
  for (; done < count; done += width) {
    const Mask wins = scan(place(done));
    if constexpr (Marks) put_marks(wins, replaced + place(done));
  }
}

/// Makes the lanes of `nans` NaN where `value` has a NaN.
HWY_INLINE Vec watch(Vec value, Vec nans) { return hn::Or(nans, hn::VecFromMask(Floats(), hn::IsNaN(value))); }

/// Scans one of the elements that vectors leave over. Returns whether it is NaN.
template <bool Marks>
HWY_INLINE bool scan_one(const float* x, float* y, std::uint8_t* replaced, std::int64_t at, float& largest) {
  const float value = x[at];
  const bool wins = value > largest;
  if (wins) largest = value;
  y[at] = largest;
  if constexpr (Marks) replaced[at] = wins;
  return value != value;
}

/// Scans row after row of lanes, all lanes side by side.
template <bool Backwards, bool Marks, bool PastCaches>
bool scan_rows(const float* x, float* y, std::uint8_t* replaced, const Tile& tile) {
  const Floats d;
  const std::int64_t whole = tile.lanes / width * width;
  HWY_ALIGN float largest[most_lanes];
  std::fill_n(largest, tile.lanes, lowest);
  auto nans = hn::Zero(d);
  bool nan = false;
  for (std::int64_t step = 0; step < tile.steps; ++step) {
    const std::int64_t row = tile.begin + step * tile.step_stride;
    const auto scan = [&](std::int64_t at) HWY_ATTR __attribute__((always_inline)) {
      const auto value = hn::LoadU(d, x + at), before = hn::Load(d, largest + (at - row));
      const auto now = hn::Max(value, before);
      nans = watch(value, nans);
      hn::Store(now, d, largest + (at - row));
      put<PastCaches>(now, y + at);
      return hn::Gt(value, before);
    };
    for_vectors<Backwards, Marks>(row, whole, replaced, scan);
    for (std::int64_t lane = whole; lane < tile.lanes; ++lane)
      nan |= scan_one<Marks>(x, y, replaced, row + lane, largest[lane]);
  }
  if constexpr (Marks) std::memset(replaced + tile.begin, 1, static_cast<std::size_t>(tile.lanes));
  return !nan && hn::AllFalse(d, hn::IsNaN(nans));
}

struct Scanned {
  Vec steps;  ///< the largest of the vector's own elements so far
  Vec last;   ///< the one that is met last, in every lane
};

/// Scans one vector. The element that is met first is the second operand.
template <bool Backwards>
HWY_INLINE Scanned scan_within(Vec now) {
  const Floats d;
  const auto least = hn::Set(d, lowest);
  if constexpr (Backwards) {
    now = hn::Max(now, hn::CombineShiftRightLanes<1>(d, least, now));
    now = hn::Max(now, hn::CombineShiftRightLanes<2>(d, least, now));
  } else {
    now = hn::Max(now, hn::CombineShiftRightLanes<3>(d, now, least));
    now = hn::Max(now, hn::CombineShiftRightLanes<2>(d, now, least));
  }
  const auto ends = hn::Broadcast < Backwards ? 0 : 3 > (now);  // the ends of each block
  if constexpr (!two_blocks) {
    return {now, ends};
  } else if constexpr (Backwards) {
    const auto before = hn::ConcatUpperUpper(d, least, ends), so_far = hn::Max(ends, before);
    return {hn::Max(now, before), hn::ConcatLowerLower(d, so_far, so_far)};
  } else {
    const auto before = hn::ConcatLowerLower(d, ends, least), so_far = hn::Max(ends, before);
    return {hn::Max(now, before), hn::ConcatUpperUpper(d, so_far, so_far)};
  }
}

/// Shifts the steps by one lane; the first lane gets `carried`, which is the same in all lanes.
template <bool Backwards>
HWY_INLINE Vec met_before(Vec steps, Vec carried) {
  const Floats d;
  if constexpr (Backwards) {
    if constexpr (two_blocks) carried = hn::ConcatUpperUpper(d, carried, steps);
    return hn::CombineShiftRightLanes<1>(d, carried, steps);
  } else {
    if constexpr (two_blocks) carried = hn::ConcatLowerLower(d, steps, carried);
    return hn::CombineShiftRightLanes<3>(d, steps, carried);
  }
}

/// Scans each line from one end to the other: within each vector, and then with the maximum carried to it. Only the
/// latter depends on the vector before.
template <bool Backwards, bool Marks, bool PastCaches>
bool scan_lines(const float* x, float* y, std::uint8_t* replaced, const Tile& tile) {
  const Floats d;
  const std::int64_t whole = tile.steps / width * width;
  auto nans = hn::Zero(d);
  bool nan = false;
  for (std::int64_t lane = 0; lane < tile.lanes; ++lane) {
    const std::int64_t begin = tile.begin + (Backwards ? tile.lanes - 1 - lane : lane) * tile.lane_stride;
    auto carried = hn::Set(d, lowest);
    const auto scan = [&](std::int64_t at) HWY_ATTR __attribute__((always_inline)) {
      const auto value = hn::LoadU(d, x + at);
      nans = watch(value, nans);
      const auto own = scan_within<Backwards>(value);
      const auto now = hn::Max(own.steps, carried), before = met_before<Backwards>(now, carried);
      put<PastCaches>(now, y + at);
      carried = hn::Max(own.last, carried);
      return hn::Gt(value, before);
    };
    for_vectors<Backwards, Marks>(Backwards ? begin - whole + 1 : begin, whole, replaced, scan);
    float largest = hn::GetLane(carried);
    for (std::int64_t step = whole; step < tile.steps; ++step)
      nan |= scan_one<Marks>(x, y, replaced, begin + (Backwards ? -step : step), largest);
    if constexpr (Marks) replaced[begin] = 1;
  }
  return !nan && hn::AllFalse(d, hn::IsNaN(nans));
}

template <bool Marks, bool PastCaches>
bool scan_any(const float* x, float* y, std::uint8_t* replaced, const Tile& tile) {
  if (tile.lane_stride == 1)
    return tile.step_stride < 0 ? scan_rows<true, Marks, PastCaches>(x, y, replaced, tile)
                                : scan_rows<false, Marks, PastCaches>(x, y, replaced, tile);
  return tile.step_stride < 0 ? scan_lines<true, Marks, PastCaches>(x, y, replaced, tile)
                              : scan_lines<false, Marks, PastCaches>(x, y, replaced, tile);
}

template <bool Marks>
bool scan_tile(const float* x, float* y, std::uint8_t* replaced, const Tile& tile, bool past_caches) {
  // Streaming stores need whole vectors at multiples of their size.
  const std::int64_t apart = tile.lane_stride == 1 ? tile.step_stride : tile.lane_stride;
  const std::int64_t lowest = tile.lane_stride != 1 && tile.step_stride < 0 ? tile.begin + 1 : tile.begin;
  const bool fits = apart % width == 0 && reinterpret_cast<std::uintptr_t>(y + lowest) % (sizeof(float) * width) == 0;
  if (!past_caches || !fits) return scan_any<Marks, false>(x, y, replaced, tile);
  const bool done = scan_any<Marks, true>(x, y, replaced, tile);
  hwy::FlushStream();
  return done;
}

bool scan(const float* x, float* y, std::uint8_t* replaced, const Tile& tile, bool past_caches) {
  return replaced ? scan_tile<true>(x, y, replaced, tile, past_caches)
                  : scan_tile<false>(x, y, replaced, tile, past_caches);
}
#else  // no vectors: the caller's own scan does as well
bool scan(const float*, float*, std::uint8_t*, const Tile&, bool) { return false; }
#endif

}  // namespace flowtrain::nets::cornernet::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flowtrain::nets::cornernet {

HWY_EXPORT(scan);

bool scan_max_f32(const float* x, float* y, std::uint8_t* replaced, const Tile& tile, bool past_caches) {
  return HWY_DYNAMIC_DISPATCH(scan)(x, y, replaced, tile, past_caches);
}

}  // namespace flowtrain::nets::cornernet
#endif
