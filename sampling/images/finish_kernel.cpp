// Compiled once for each kind of vectors, by Highway. With -ffp-contract=off: a product and a sum that the compiler made
// one would be rounded once on processors that have such an instruction, and twice on others and on GPUs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sampling/images/finish_kernel.cpp"
#include <hwy/foreach_target.h>  // first

#include <hwy/highway.h>

#include "sampling/images/finish_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace flowtrain::finishing::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void normalise(const std::uint8_t* from, const float* scale, const float* shift, std::size_t count, float* to) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> d;
  const hn::Rebind<std::int32_t, decltype(d)> d32;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  for (const std::size_t width = hn::Lanes(d); i + width <= count; i += width) {
    const auto values = hn::ConvertTo(d, hn::PromoteTo(d32, hn::LoadU(d8, from + i)));
    hn::StoreU(hn::Add(hn::Mul(values, hn::LoadU(d, scale + i)), hn::LoadU(d, shift + i)), d, to + i);
  }
#endif
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]) * scale[i] + shift[i];
}

void blend(const float* other, float own, std::size_t count, float* to) {
  const float rest = 1 - own;
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> d;
  const auto owns = hn::Set(d, own), rests = hn::Set(d, rest);
  for (const std::size_t width = hn::Lanes(d); i + width <= count; i += width)
    hn::StoreU(hn::Add(hn::Mul(owns, hn::LoadU(d, to + i)), hn::Mul(rests, hn::LoadU(d, other + i))), d, to + i);
#endif
  for (; i < count; ++i) to[i] = own * to[i] + rest * other[i];
}

void split(const std::uint8_t* from, std::size_t pixels, int channels, std::uint8_t* to) {
  const auto apart = static_cast<std::size_t>(channels);
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
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
#endif
  for (; i < pixels; ++i)
    for (std::size_t c = 0; c < apart; ++c) to[c * pixels + i] = from[i * apart + c];
}

}  // namespace flowtrain::finishing::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flowtrain::finishing {

HWY_EXPORT(normalise);
HWY_EXPORT(blend);
HWY_EXPORT(split);

void normalise(const std::uint8_t* from, const float* scale, const float* shift, std::size_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(normalise)(from, scale, shift, count, to);
}

void blend(const float* other, float own, std::size_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(blend)(other, own, count, to);
}

void split(const std::uint8_t* from, std::size_t pixels, int channels, std::uint8_t* to) {
  HWY_DYNAMIC_DISPATCH(split)(from, pixels, channels, to);
}

}  // namespace flowtrain::finishing
#endif
