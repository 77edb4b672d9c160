// Highway compiles this file once for each kind of vectors. The flag -ffp-contract=off, and sums of two operations
// instead of fused ones, make results equal everywhere.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sampling/audio/fourier.cpp"
#include <hwy/foreach_target.h>  // must come first

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numbers>
#include <utility>
#include <vector>

#include "sampling/audio/fourier.h"
#include "sampling/core/error.h"

HWY_BEFORE_NAMESPACE();
namespace flowtrain::fourier_lanes::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Eight frames of 512 samples fit the nearest cache; wider vectors would not be faster.
using Lanes = hn::CappedTag<float, 8>;
using Floats = hn::VFromD<Lanes>;

/// A complex number of each lane.
struct Complex {
  Floats re, im;
};

HWY_INLINE Complex load(const float* from) {
  const Lanes d;
  return {hn::LoadU(d, from), hn::LoadU(d, from + hn::Lanes(d))};
}

HWY_INLINE void store(const Complex& value, float* to) {
  const Lanes d;
  hn::StoreU(value.re, d, to);
  hn::StoreU(value.im, d, to + hn::Lanes(d));
}

HWY_INLINE Complex add(const Complex& a, const Complex& b) { return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)}; }
HWY_INLINE Complex sub(const Complex& a, const Complex& b) { return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)}; }
/// Returns a · (w[0] - i w[1]).
HWY_INLINE Complex turn(const Complex& a, const float* w) {
  const Lanes d;
  const auto cosine = hn::Set(d, w[0]), sine = hn::Set(d, w[1]);
  return {hn::Add(hn::Mul(a.re, cosine), hn::Mul(a.im, sine)), hn::Sub(hn::Mul(a.im, cosine), hn::Mul(a.re, sine))};
}

void two(const float* from, float* to, const float* w, std::size_t parts, std::size_t stride, std::size_t step) {
  for (std::size_t p = 0; p < parts; ++p, w += 2)
    for (std::size_t q = 0; q < stride; ++q) {
      const auto a = load(from + (q + stride * p) * step), b = load(from + (q + stride * (p + parts)) * step);
      store(add(a, b), to + (q + stride * 2 * p) * step);
      store(turn(sub(a, b), w), to + (q + stride * (2 * p + 1)) * step);
    }
}

void four(const float* from, float* to, const float* w, std::size_t parts, std::size_t stride, std::size_t step) {
  for (std::size_t p = 0; p < parts; ++p, w += 6)
    for (std::size_t q = 0; q < stride; ++q) {
      const float* const at = from + (q + stride * p) * step;
      const auto a = load(at), b = load(at + stride * parts * step), c = load(at + 2 * stride * parts * step),
                 e = load(at + 3 * stride * parts * step);
      const auto ac = add(a, c), a_c = sub(a, c), be = add(b, e), b_e = sub(b, e);
      float* const into = to + (q + stride * 4 * p) * step;
      store(add(ac, be), into);
      store(turn({hn::Add(a_c.re, b_e.im), hn::Sub(a_c.im, b_e.re)}, w), into + stride * step);
      store(turn(sub(ac, be), w + 2), into + 2 * stride * step);
      store(turn({hn::Sub(a_c.re, b_e.im), hn::Add(a_c.im, b_e.re)}, w + 4), into + 3 * stride * step);
    }
}

void any(const float* from, float* to, const float* w, const float* roots, std::size_t radix, std::size_t parts,
         std::size_t stride, std::size_t step) {
  for (std::size_t p = 0; p < parts; ++p, w += 2 * (radix - 1))
    for (std::size_t q = 0; q < stride; ++q)
      for (std::size_t j = 0; j < radix; ++j) {
        auto sum = load(from + (q + stride * p) * step);
        for (std::size_t k = 1; k < radix; ++k)
          sum = add(sum, turn(load(from + (q + stride * (p + parts * k)) * step), roots + 2 * (j * k % radix)));
        store(j == 0 ? sum : turn(sum, w + 2 * (j - 1)), to + (q + stride * (radix * p + j)) * step);
      }
}

/// Transforms `data`, complex numbers of all lanes; returns the place of the result, which is `data` or `other`.
float* transform(const FourierPlan& plan, float* data, float* other) {
  const std::size_t step = 2 * hn::Lanes(Lanes());
  std::size_t stride = 1, size = plan.size;
  for (const auto& stage : plan.stages) {
    const std::size_t parts = size / stage.radix;
    const float* const w = plan.table.data() + stage.twiddles;
    if (stage.radix == 4)
      four(data, other, w, parts, stride, step);
    else if (stage.radix == 2)
      two(data, other, w, parts, stride, step);
    else
      any(data, other, w, plan.table.data() + stage.roots, stage.radix, parts, stride, step);
    std::swap(data, other);
    size = parts;
    stride *= stage.radix;
  }
  return data;
}

/// Returns the natural logarithms of normal numbers > 0, by a polynomial around 1 with the coefficients of Cephes'
/// logf (S. Moshier).
HWY_INLINE Floats logarithm(Floats x) {
  const Lanes d;
  const hn::RebindToSigned<Lanes> di;
  const auto bits = hn::BitCast(di, x);
  auto exponent = hn::ConvertTo(d, hn::Sub(hn::ShiftRight<23>(bits), hn::Set(di, 126)));
  auto m = hn::BitCast(d, hn::Or(hn::And(bits, hn::Set(di, 0x007fffff)), hn::Set(di, 0x3f000000)));  // 0.5 … 1
  const auto is_small = hn::Lt(m, hn::Set(d, 0.707106781186547524f));
  exponent = hn::IfThenElse(is_small, hn::Sub(exponent, hn::Set(d, 1.0f)), exponent);
  m = hn::Sub(hn::IfThenElse(is_small, hn::Add(m, m), m), hn::Set(d, 1.0f));
  const auto square = hn::Mul(m, m);
  auto y = hn::Set(d, 7.0376836292e-2f);
  for (const float each : {-1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f,
                           2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f})
    y = hn::Add(hn::Mul(y, m), hn::Set(d, each));
  y = hn::Mul(hn::Mul(y, m), square);
  y = hn::Add(y, hn::Mul(exponent, hn::Set(d, -2.12194440e-4f)));
  y = hn::Sub(y, hn::Mul(hn::Set(d, 0.5f), square));
  return hn::Add(hn::Add(m, y), hn::Mul(exponent, hn::Set(d, 0.693359375f)));
}

/// Writes the samples of one frame a lane, value after value; lanes beyond the last frame get that frame.
void gather(const FramePlan& plan, const float* samples, std::size_t first, std::size_t frames, float* to) {
  const std::size_t lanes = hn::Lanes(Lanes());
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const float* const from = samples + std::min(first + lane, frames - 1) * plan.hop;
    for (std::size_t i = 0; i < plan.length; ++i) to[i * lanes + lane] = from[i];
  }
}

/// Prepares the gathered frames as Kaldi does, and multiplies them by the window; writes their energies.
void prepare(const FramePlan& plan, float* data, float* energy) {
  const Lanes d;
  const std::size_t lanes = hn::Lanes(d);
  auto mean = hn::Zero(d);
  if (plan.removes_mean) {
    for (std::size_t i = 0; i < plan.length; ++i) mean = hn::Add(mean, hn::LoadU(d, data + i * lanes));
    mean = hn::Mul(mean, hn::Set(d, 1 / static_cast<float>(plan.length)));
  }
  auto sum = hn::Zero(d);
  auto before = hn::Sub(hn::LoadU(d, data), mean);
  const auto emphasis = hn::Set(d, plan.preemphasis);
  for (std::size_t i = 0; i < plan.length; ++i) {
    const auto value = hn::Sub(hn::LoadU(d, data + i * lanes), mean);
    sum = hn::Add(sum, hn::Mul(value, value));
    hn::StoreU(hn::Mul(hn::Sub(value, hn::Mul(emphasis, before)), hn::Set(d, plan.window[i])), d, data + i * lanes);
    before = value;
  }
  std::fill(data + plan.length * lanes, data + plan.size * lanes, 0.0f);
  hn::StoreU(logarithm(hn::Max(sum, hn::Set(d, plan.least_energy))), d, energy);
}

/// Computes the powers of the frequencies 0 … size / 2 from the transform of the even samples (real parts) and the odd
/// ones (imaginary parts).
void powers(const FramePlan& plan, const float* data, float* to) {
  const Lanes d;
  const std::size_t lanes = hn::Lanes(d), half = plan.size / 2;
  const auto first = load(data);
  const auto sum = hn::Add(first.re, first.im), difference = hn::Sub(first.re, first.im);
  hn::StoreU(hn::Mul(sum, sum), d, to);
  hn::StoreU(hn::Mul(difference, difference), d, to + half * lanes);
  const auto scale = hn::Set(d, 0.5f);
  for (std::size_t k = 1; k <= half / 2; ++k) {
    const auto a = load(data + 2 * k * lanes), b = load(data + 2 * (half - k) * lanes);
    const Complex even{hn::Mul(scale, hn::Add(a.re, b.re)), hn::Mul(scale, hn::Sub(a.im, b.im))};
    const Complex odd =
        turn({hn::Mul(scale, hn::Add(a.im, b.im)), hn::Mul(scale, hn::Sub(b.re, a.re))}, plan.split.data() + 2 * k);
    const auto low = add(even, odd), high = sub(even, odd);
    hn::StoreU(hn::Add(hn::Mul(low.re, low.re), hn::Mul(low.im, low.im)), d, to + k * lanes);
    hn::StoreU(hn::Add(hn::Mul(high.re, high.re), hn::Mul(high.im, high.im)), d, to + (half - k) * lanes);
  }
}

void log_mel(const FramePlan& plan, const float* samples, std::size_t frames, float* memory, float* to,
             std::size_t stride, float* energies) {
  const Lanes d;
  const std::size_t lanes = hn::Lanes(d);
  float* const data = memory;
  float* const other = data + plan.size * lanes;
  float* const spectrum = other + plan.size * lanes;
  float* const values = spectrum + (plan.size / 2 + 1) * lanes;
  const auto least = hn::Set(d, plan.least), offset = hn::Set(d, plan.offset), factor = hn::Set(d, plan.factor);
  for (std::size_t first = 0; first < frames; first += lanes) {
    const std::size_t count = std::min(lanes, frames - first);
    gather(plan, samples, first, frames, data);
    prepare(plan, data, values);
    if (energies) std::copy_n(values, count, energies + first);
    powers(plan, transform(plan.fourier, data, other), spectrum);
    for (std::size_t b = 0; b < plan.bands.size(); ++b) {
      const auto& weights = plan.bands[b].weights;
      const float* const from = spectrum + plan.bands[b].first * lanes;
      auto sum = hn::Zero(d);
      for (std::size_t i = 0; i < weights.size(); ++i)
        sum = hn::Add(sum, hn::Mul(hn::Set(d, weights[i]), hn::LoadU(d, from + i * lanes)));
      hn::StoreU(hn::Mul(logarithm(hn::Add(hn::Max(sum, least), offset)), factor), d, values + b * lanes);
    }
    for (std::size_t lane = 0; lane < count; ++lane) {
      float* const row = to + (first + lane) * stride;
      for (std::size_t b = 0; b < plan.bands.size(); ++b) row[b] = values[b * lanes + lane];
    }
  }
}

/// Convolves blocks, two a lane: those with even numbers are real parts, the others imaginary parts. `filter` has the
/// transform of the response, divided by the size.
void convolve(const FourierPlan& plan, const float* filter, const float* padded, std::size_t block, std::size_t blocks,
              float* memory, float* to) {
  const std::size_t lanes = hn::Lanes(Lanes()), step = 2 * lanes;
  float* const data = memory;
  float* const other = data + plan.size * step;
  for (std::size_t first = 0; first < blocks; first += step) {
    const std::size_t count = std::min(step, blocks - first);
    for (std::size_t each = 0; each < step; ++each) {
      const float* const from = padded + (first + std::min(each, count - 1)) * block;
      float* const into = data + each % 2 * lanes + each / 2;
      for (std::size_t i = 0; i < plan.size; ++i) into[i * step] = from[i];
    }
    float* const spectrum = transform(plan, data, other);
    for (std::size_t i = 0; i < plan.size; ++i) {
      const auto value = load(spectrum + i * step);
      const float w[2] = {filter[2 * i], -filter[2 * i + 1]};
      const auto product = turn(value, w);
      store({product.im, product.re}, spectrum + i * step);  // real and imaginary parts in exchange: the inverse
    }
    float* const result = transform(plan, spectrum, spectrum == data ? other : data);
    for (std::size_t each = 0; each < count; ++each) {
      const float* const from = result + (1 - each % 2) * lanes + each / 2;
      for (std::size_t i = 0; i < block; ++i) to[(first + each) * block + i] = from[(plan.size - block + i) * step];
    }
  }
}

void transform_one(const FourierPlan& plan, const float* from, float* memory, float* to) {
  const std::size_t lanes = hn::Lanes(Lanes()), step = 2 * lanes;
  std::fill(memory, memory + plan.size * step, 0.0f);
  for (std::size_t i = 0; i < plan.size; ++i) memory[i * step] = from[i];
  const float* const result = transform(plan, memory, memory + plan.size * step);
  for (std::size_t i = 0; i < plan.size; ++i) to[2 * i] = result[i * step], to[2 * i + 1] = result[i * step + lanes];
}

}  // namespace flowtrain::fourier_lanes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flowtrain {
namespace fourier_lanes {

HWY_EXPORT(log_mel);
HWY_EXPORT(convolve);
HWY_EXPORT(transform_one);

constexpr std::size_t most_lanes = 8;

/// Returns `count` floats of this thread, at the beginning of a line of the cache; their values are of no one.
float* lane_memory(std::size_t count) {
  constexpr std::size_t line_bytes = 64;
  thread_local std::vector<float> memory;
  if (memory.size() < count + line_bytes / sizeof(float)) memory.resize(count + line_bytes / sizeof(float));
  void* at = memory.data();
  std::size_t space = memory.size() * sizeof(float);
  return static_cast<float*>(std::align(line_bytes, count * sizeof(float), at, space));
}

}  // namespace fourier_lanes

bool FourierPlan::takes(std::size_t size) {
  if (size == 0) return false;
  for (std::size_t prime = 2; prime <= greatest_prime; ++prime)
    while (size % prime == 0) size /= prime;
  return size == 1;
}

FourierPlan::FourierPlan(std::size_t of) : size(of) {
  if (!takes(of)) throw InternalError("a Fourier transform of a size with a prime factor that is too large");
  const auto add = [&](double turns) {
    const double angle = 2 * std::numbers::pi * turns;
    table.push_back(static_cast<float>(std::cos(angle)));
    table.push_back(static_cast<float>(std::sin(angle)));
  };
  for (std::size_t left = of, radix = 4; left > 1;) {
    if (left % radix != 0) {
      radix = radix == 4 ? 2 : radix == 3 ? 5 : radix + 1;  // after the fours there is one two at most
      continue;
    }
    Stage stage{radix, table.size(), 0};
    for (std::size_t p = 0; p < left / radix; ++p)
      for (std::size_t j = 1; j < radix; ++j) add(static_cast<double>(p * j % left) / static_cast<double>(left));
    stage.roots = table.size();
    for (std::size_t j = 0; j < radix; ++j) add(static_cast<double>(j) / static_cast<double>(radix));
    stages.push_back(stage);
    left /= radix;
  }
}

void log_mel(const FramePlan& plan, const float* samples, std::size_t frames, float* to, std::size_t stride,
             float* energies) {
  const std::size_t floats = 2 * plan.size + plan.size / 2 + 1 + std::max<std::size_t>(1, plan.bands.size());
  float* const memory = fourier_lanes::lane_memory(floats * fourier_lanes::most_lanes);
  // NOLINTNEXTLINE: the names are of Highway's tables
  using namespace fourier_lanes;
  HWY_DYNAMIC_DISPATCH(log_mel)(plan, samples, frames, memory, to, stride, energies);
}

void convolve(std::span<float> signal, std::span<const float> response) {
  if (signal.empty() || response.empty()) return;
  thread_local std::array<FourierPlan, 32> plans;  // by the power of two
  thread_local std::vector<float> padded, filter, result;
  const std::size_t size = std::bit_ceil(std::max<std::size_t>(256, 4 * response.size()));
  auto& plan = plans.at(static_cast<std::size_t>(std::countr_zero(size)));
  if (plan.size == 0) plan = FourierPlan(size);
  const std::size_t block = size - response.size() + 1, blocks = (signal.size() + block - 1) / block;
  float* const memory = fourier_lanes::lane_memory(4 * size * fourier_lanes::most_lanes);

  padded.assign(size, 0.0f);
  std::transform(response.begin(), response.end(), padded.begin(),
                 [&](float each) { return each / static_cast<float>(size); });
  filter.resize(2 * size);
  // NOLINTNEXTLINE: the names are of Highway's tables
  using namespace fourier_lanes;
  HWY_DYNAMIC_DISPATCH(transform_one)(plan, padded.data(), memory, filter.data());
  padded.assign(response.size() - 1 + blocks * block, 0.0f);
  std::copy(signal.begin(), signal.end(), padded.begin() + static_cast<std::ptrdiff_t>(response.size() - 1));
  result.resize(blocks * block);
  HWY_DYNAMIC_DISPATCH(convolve)(plan, filter.data(), padded.data(), block, blocks, memory, result.data());
  std::copy_n(result.begin(), signal.size(), signal.begin());
}

}  // namespace flowtrain
#endif
