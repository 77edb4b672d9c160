// Compiled once for each kind of vectors, by Highway: https://google.github.io/highway.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sampling/samplers/unit_floats.cpp"
#include <hwy/foreach_target.h>  // first

#include <hwy/highway.h>

#include "sampling/samplers/unit_floats.h"

HWY_BEFORE_NAMESPACE();
namespace flowtrain::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void to_unit_floats(const std::uint8_t* in, std::size_t count, float* out) {
  const hn::ScalableTag<float> floats;
  const hn::Rebind<std::int32_t, decltype(floats)> integers;
  const hn::Rebind<std::uint8_t, decltype(floats)> bytes;
  constexpr float unit = 1.0f / 255;
  const auto units = hn::Set(floats, unit);
  std::size_t i = 0;
  for (; i + hn::Lanes(floats) <= count; i += hn::Lanes(floats))
    hn::StoreU(hn::Mul(hn::ConvertTo(floats, hn::PromoteTo(integers, hn::LoadU(bytes, in + i))), units), floats,
               out + i);
  for (; i < count; ++i) out[i] = static_cast<float>(in[i]) * unit;
}

}  // namespace flowtrain::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flowtrain {

HWY_EXPORT(to_unit_floats);

void to_unit_floats(const std::uint8_t* in, std::size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(to_unit_floats)(in, count, out);
}

}  // namespace flowtrain
#endif
