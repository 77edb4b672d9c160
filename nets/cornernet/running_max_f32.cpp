// Compiled once for each kind of vectors, by Highway: https://google.github.io/highway. Without NaNs a step is one
// maximum; it keeps what it had among equals, as x86 takes the second operand.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nets/cornernet/running_max_f32.cpp"
#include <hwy/foreach_target.h>  // first

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "nets/cornernet/running_max_f32.h"

HWY_BEFORE_NAMESPACE();
namespace flowtrain::nets::cornernet::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <bool PastCaches, class D>
void put(hn::Vec<D> values, D d, float* to) {
  if constexpr (PastCaches)
    hn::Stream(values, d, to);
  else
    hn::StoreU(values, d, to);
}

template <class D>
void put_marks(hn::Mask<D> wins, D d, std::uint8_t* to) {
  const hn::RebindToSigned<D> whole;
  const hn::Rebind<std::uint8_t, D> bytes;
  const auto ones = hn::And(hn::BitCast(whole, hn::VecFromMask(d, wins)), hn::Set(whole, 1));
  hn::StoreU(hn::DemoteTo(bytes, ones), bytes, to);
}

template <bool Marks, bool PastCaches>
bool scan_rows(const float* x, float* y, std::uint8_t* replaced, const Tile& tile) {
  const hn::ScalableTag<float> d;
  const auto width = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t whole = tile.lanes / width * width;
  HWY_ALIGN float largest[kMostLanes];
  for (std::int64_t lane = 0; lane < tile.lanes; ++lane) {
    const std::int64_t at = tile.begin + lane;
    largest[lane] = y[at] = x[at];
    if (Marks) replaced[at] = 1;
  }
  bool nan = false;
  for (std::int64_t lane = 0; lane < tile.lanes; ++lane) nan |= largest[lane] != largest[lane];
  auto nans = hn::Zero(d);
  for (std::int64_t step = 1; step < tile.steps; ++step) {
    const std::int64_t row = tile.begin + step * tile.step_stride;
    for (std::int64_t lane = 0; lane < whole; lane += width) {
      const auto value = hn::LoadU(d, x + row + lane), before = hn::Load(d, largest + lane);
      const auto now = hn::Max(value, before);
      nans = hn::Or(nans, hn::VecFromMask(d, hn::IsNaN(value)));
      hn::Store(now, d, largest + lane);
      put<PastCaches>(now, d, y + row + lane);
      if (Marks) put_marks(hn::Gt(value, before), d, replaced + row + lane);
    }
    for (std::int64_t lane = whole; lane < tile.lanes; ++lane) {
      const float value = x[row + lane];
      const bool wins = value > largest[lane];
      nan |= value != value;
      if (wins) largest[lane] = value;
      y[row + lane] = largest[lane];
      if (Marks) replaced[row + lane] = wins;
    }
  }
  return !nan && hn::AllFalse(d, hn::IsNaN(nans));
}

#if HWY_TARGET != HWY_SCALAR
/// Lines that are scanned side by side, four steps of each in a part of a vector of its own.
using Steps = hn::CappedTag<float, 8>;
constexpr std::int64_t kLines = hn::MaxLanes(Steps()) / 4;

/// Four floats from each line, `apart` from one line to the next.
template <class D>
HWY_INLINE hn::Vec<D> load_steps(D d, const float* x, [[maybe_unused]] std::int64_t apart) {
  const hn::FixedTag<float, 4> part;
  if constexpr (hn::MaxLanes(D()) == 8)
    return hn::Combine(d, hn::LoadU(part, x + apart), hn::LoadU(part, x));
  else
    return hn::LoadU(part, x);
}

template <class D>
HWY_INLINE void store_steps(hn::Vec<D> values, D, float* y, [[maybe_unused]] std::int64_t apart) {
  const hn::FixedTag<float, 4> part;
  if constexpr (hn::MaxLanes(D()) == 8) {
    hn::StoreU(hn::LowerHalf(part, values), part, y);
    hn::StoreU(hn::UpperHalf(part, values), part, y + apart);
  } else {
    hn::StoreU(values, part, y);
  }
}

HWY_INLINE void store_marks(hn::Mask<Steps> wins, std::uint8_t* replaced, [[maybe_unused]] std::int64_t apart) {
  std::uint8_t marks[4 * kLines];
  put_marks(wins, Steps(), marks);
  std::memcpy(replaced, marks, 4);
  if constexpr (kLines == 2) std::memcpy(replaced + apart, marks + 4, 4);
}

/// Four steps of each line: a scan within the vector, then what was carried here. `x`, `y` and `replaced` point to the
/// one of the first line's four that lies first in memory.
template <bool Backwards, bool Marks>
HWY_INLINE void scan_steps(const float* x, float* y, std::uint8_t* replaced, std::int64_t apart,
                           hn::Vec<Steps>& carried, hn::Vec<Steps>& nans) {
  const Steps d;
  const auto least = hn::Set(d, -std::numeric_limits<float>::infinity());
  const auto value = load_steps(d, x, apart);
  nans = hn::Or(nans, hn::VecFromMask(d, hn::IsNaN(value)));
  auto now = value, before = carried;
  if constexpr (Backwards) {
    now = hn::Max(now, hn::CombineShiftRightLanes<1>(d, least, now));
    now = hn::Max(now, hn::CombineShiftRightLanes<2>(d, least, now));
    now = hn::Max(now, carried);
    if (Marks) before = hn::CombineShiftRightLanes<1>(d, carried, now);
    carried = hn::Broadcast<0>(now);
  } else {
    now = hn::Max(now, hn::CombineShiftRightLanes<3>(d, now, least));
    now = hn::Max(now, hn::CombineShiftRightLanes<2>(d, now, least));
    now = hn::Max(now, carried);
    if (Marks) before = hn::CombineShiftRightLanes<3>(d, now, carried);
    carried = hn::Broadcast<3>(now);
  }
  store_steps(now, d, y, apart);
  if (Marks) store_marks(hn::Gt(value, before), replaced, apart);
}

/// One line, a step at a time, from step `first` on; `largest` of those before.
template <bool Marks>
bool scan_plain(const float* x, float* y, std::uint8_t* replaced, std::int64_t direction, std::int64_t first,
                std::int64_t steps, float largest) {
  bool nan = false;
  for (std::int64_t step = first; step < steps; ++step) {
    const float value = x[direction * step];
    const bool wins = value > largest;
    nan |= value != value;
    if (wins) largest = value;
    y[direction * step] = largest;
    if (Marks) replaced[direction * step] = wins;
  }
  if (Marks) replaced[0] = 1;
  return nan;
}

/// Written through the caches: these short stores are no faster past them.
template <bool Backwards, bool Marks>
bool scan_lines(const float* x, float* y, std::uint8_t* replaced, const Tile& tile) {
  const Steps d;
  constexpr std::int64_t direction = Backwards ? -1 : 1;
  const std::int64_t whole = tile.steps / 4 * 4, apart = tile.lane_stride;
  auto nans = hn::Zero(d);
  bool nan = false;
  const auto scan = [&](std::int64_t line, std::int64_t step, auto& carried) HWY_ATTR {
    const std::int64_t at = line + (Backwards ? -step - 3 : step);
    scan_steps<Backwards, Marks>(x + at, y + at, Marks ? replaced + at : nullptr, apart, carried, nans);
  };
  const auto start = [&](std::int64_t line) HWY_ATTR {
    float first[4 * kLines];
    for (std::int64_t i = 0; i < 4 * kLines; ++i) first[i] = x[line + i / 4 * apart];
    return hn::LoadU(d, first);
  };
  const auto finish = [&](std::int64_t line, std::int64_t lines) {
    for (std::int64_t i = 0; i < lines; ++i) {
      const std::int64_t at = line + i * apart;
      const float largest = whole > 0 ? y[at + direction * (whole - 1)] : x[at];
      nan |= scan_plain<Marks>(x + at, y + at, Marks ? replaced + at : nullptr, direction, whole, tile.steps, largest);
    }
  };
  std::int64_t lane = 0;
  for (; lane + 2 * kLines <= tile.lanes; lane += 2 * kLines) {  // two vectors: each step waits for the one before
    const std::int64_t one = tile.begin + lane * apart, two = one + kLines * apart;
    auto carried_one = start(one), carried_two = start(two);
    for (std::int64_t step = 0; step < whole; step += 4) scan(one, step, carried_one), scan(two, step, carried_two);
    finish(one, 2 * kLines);
  }
  for (; lane < tile.lanes; ++lane) {
    const std::int64_t at = tile.begin + lane * apart;
    nan |= scan_plain<Marks>(x + at, y + at, Marks ? replaced + at : nullptr, direction, 0, tile.steps, x[at]);
  }
  return !nan && hn::AllFalse(d, hn::IsNaN(nans));
}
#else   // no vectors: the caller's own scan does as well
template <bool Backwards, bool Marks>
bool scan_lines(const float*, float*, std::uint8_t*, const Tile&) {
  return false;
}
#endif

template <bool Marks>
bool scan_tile(const float* x, float* y, std::uint8_t* replaced, const Tile& tile, bool past_caches) {
  if (tile.lane_stride != 1)
    return tile.step_stride < 0 ? scan_lines<true, Marks>(x, y, replaced, tile)
                                : scan_lines<false, Marks>(x, y, replaced, tile);
  // Writing past the caches needs whole vectors at multiples of their size.
  const std::size_t vector = sizeof(float) * hn::Lanes(hn::ScalableTag<float>());
  const bool fits = static_cast<std::size_t>(std::abs(tile.step_stride)) * sizeof(float) % vector == 0 &&
                    reinterpret_cast<std::uintptr_t>(y + tile.begin) % vector == 0;
  if (!past_caches || !fits) return scan_rows<Marks, false>(x, y, replaced, tile);
  const bool done = scan_rows<Marks, true>(x, y, replaced, tile);
  hwy::FlushStream();
  return done;
}

bool scan(const float* x, float* y, std::uint8_t* replaced, const Tile& tile, bool past_caches) {
  return replaced ? scan_tile<true>(x, y, replaced, tile, past_caches) : scan_tile<false>(x, y, replaced, tile, past_caches);
}

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
