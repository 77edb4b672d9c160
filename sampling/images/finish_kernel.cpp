// Highway compiles this file once for each kind of vectors. The flag -ffp-contract=off makes results equal everywhere:
// a fused product and sum would be rounded once on some processors, and twice on others and on GPUs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sampling/images/finish_kernel.cpp"
#include <hwy/foreach_target.h>  // must come first

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sampling/images/finish_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace flowtrain::finishing::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Bytes = hn::Rebind<std::uint8_t, Floats>;
using Levels = hn::VFromD<Floats>;

HWY_INLINE Levels to_floats(hn::VFromD<Bytes> bytes) {
  return hn::ConvertTo(Floats(), hn::PromoteTo(hn::Rebind<std::int32_t, Floats>(), bytes));
}

void normalise(const std::uint8_t* from, const float* scale, const float* shift, std::size_t count, float* to) {
  std::size_t i = 0;
  const Floats d;
  for (const std::size_t width = hn::Lanes(d); i + width <= count; i += width) {
    const auto values = to_floats(hn::LoadU(Bytes(), from + i));
    hn::StoreU(hn::Add(hn::Mul(values, hn::LoadU(d, scale + i)), hn::LoadU(d, shift + i)), d, to + i);
  }
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]) * scale[i] + shift[i];
}

void to_unit_floats(const std::uint8_t* from, std::size_t count, float* to) {
  constexpr float unit = 1.0f / 255;
  const Floats d;
  const auto units = hn::Set(d, unit);
  std::size_t i = 0;
  for (const std::size_t width = hn::Lanes(d); i + width <= count; i += width)
    hn::StoreU(hn::Mul(to_floats(hn::LoadU(Bytes(), from + i)), units), d, to + i);
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]) * unit;
}

void blend(const float* other, float own, std::size_t count, float* to) {
  const float rest = 1 - own;
  std::size_t i = 0;
  const Floats d;
  const auto owns = hn::Set(d, own), rests = hn::Set(d, rest);
  for (const std::size_t width = hn::Lanes(d); i + width <= count; i += width)
    hn::StoreU(hn::Add(hn::Mul(owns, hn::LoadU(d, to + i)), hn::Mul(rests, hn::LoadU(d, other + i))), d, to + i);
  for (; i < count; ++i) to[i] = own * to[i] + rest * other[i];
}

void tint(const std::uint8_t* from, std::size_t pixels, const Tint& tint, float grey, std::uint8_t* to) {
  const float lifted = tint.lift * grey;
  std::size_t i = 0;
  const Floats d;
  const Bytes d8;
  const auto lift = hn::Set(d, lifted), none = hn::Zero(d), full = hn::Set(d, 255.0f);
  auto red = hn::Zero(d8), green = red, blue = red;
  const auto channel = [&](const float* m, const auto& r, const auto& g, const auto& b) {
    const auto sum =
        hn::Add(hn::Add(hn::Mul(hn::Set(d, m[0]), r), hn::Mul(hn::Set(d, m[1]), g)), hn::Mul(hn::Set(d, m[2]), b));
    return hn::DemoteTo(d8, hn::NearestInt(hn::Min(hn::Max(hn::Add(sum, lift), none), full)));
  };
  for (const std::size_t width = hn::Lanes(d); i + width <= pixels; i += width) {
    hn::LoadInterleaved3(d8, from + 3 * i, red, green, blue);
    const auto r = to_floats(red), g = to_floats(green), b = to_floats(blue);
    hn::StoreInterleaved3(channel(tint.m[0], r, g, b), channel(tint.m[1], r, g, b), channel(tint.m[2], r, g, b), d8,
                          to + 3 * i);
  }
  for (; i < pixels; ++i) {
    const auto r = static_cast<float>(from[3 * i]), g = static_cast<float>(from[3 * i + 1]),
               b = static_cast<float>(from[3 * i + 2]);
    for (std::size_t c = 0; c < 3; ++c) {
      const float* m = tint.m[c];
      to[3 * i + c] =
          static_cast<std::uint8_t>(std::nearbyint(std::clamp(m[0] * r + m[1] * g + m[2] * b + lifted, 0.0f, 255.0f)));
    }
  }
}

/// Returns the sums of the three channels.
std::array<std::uint64_t, 3> channel_sums(const std::uint8_t* from, std::size_t pixels) {
  std::array<std::uint64_t, 3> sums{};
  std::size_t i = 0;
  const hn::ScalableTag<std::uint8_t> d;
  const hn::Repartition<std::uint64_t, decltype(d)> d64;
  auto red = hn::Zero(d64), green = red, blue = red;
  auto r = hn::Zero(d), g = r, b = r;
  for (const std::size_t width = hn::Lanes(d); i + width <= pixels; i += width) {
    hn::LoadInterleaved3(d, from + 3 * i, r, g, b);
    red = hn::Add(red, hn::SumsOf8(r));
    green = hn::Add(green, hn::SumsOf8(g));
    blue = hn::Add(blue, hn::SumsOf8(b));
  }
  sums = {hn::GetLane(hn::SumOfLanes(d64, red)), hn::GetLane(hn::SumOfLanes(d64, green)),
          hn::GetLane(hn::SumOfLanes(d64, blue))};
  for (; i < pixels; ++i)
    for (std::size_t c = 0; c < 3; ++c) sums[c] += from[3 * i + c];
  return sums;
}

float mean_grey(const std::uint8_t* from, std::size_t pixels) {
  const auto [red, green, blue] = channel_sums(from, pixels);
  const double sum =
      0.299 * static_cast<double>(red) + 0.587 * static_cast<double>(green) + 0.114 * static_cast<double>(blue);
  return static_cast<float>(sum / static_cast<double>(pixels));
}

void split(const std::uint8_t* from, std::size_t pixels, int channels, std::uint8_t* to) {
  const auto apart = static_cast<std::size_t>(channels);
  std::size_t i = 0;
  if (channels == 3) {
    const hn::ScalableTag<std::uint8_t> d;
    auto first = hn::Zero(d), second = first, third = first;
    for (const std::size_t width = hn::Lanes(d); i + width <= pixels; i += width) {
      hn::LoadInterleaved3(d, from + 3 * i, first, second, third);
      hn::StoreU(first, d, to + i);
      hn::StoreU(second, d, to + pixels + i);
      hn::StoreU(third, d, to + 2 * pixels + i);
    }
  }
  for (; i < pixels; ++i)
    for (std::size_t c = 0; c < apart; ++c) to[c * pixels + i] = from[i * apart + c];
}

}  // namespace flowtrain::finishing::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flowtrain::finishing {

HWY_EXPORT(normalise);
HWY_EXPORT(to_unit_floats);
HWY_EXPORT(blend);
HWY_EXPORT(split);
HWY_EXPORT(tint);
HWY_EXPORT(mean_grey);

void normalise(const std::uint8_t* from, const float* scale, const float* shift, std::size_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(normalise)(from, scale, shift, count, to);
}

void to_unit_floats(const std::uint8_t* from, std::size_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(to_unit_floats)(from, count, to);
}

void blend(const float* other, float own, std::size_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(blend)(other, own, count, to);
}

void tint(const std::uint8_t* from, std::size_t pixels, const Tint& tint, float grey, std::uint8_t* to) {
  HWY_DYNAMIC_DISPATCH(tint)(from, pixels, tint, grey, to);
}

float mean_grey(const std::uint8_t* from, std::size_t pixels) { return HWY_DYNAMIC_DISPATCH(mean_grey)(from, pixels); }

void split(const std::uint8_t* from, std::size_t pixels, int channels, std::uint8_t* to) {
  HWY_DYNAMIC_DISPATCH(split)(from, pixels, channels, to);
}

}  // namespace flowtrain::finishing
#endif
