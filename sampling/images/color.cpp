#include "sampling/images/color.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

namespace flowtrain {
namespace {

/// ITU-R 601 luma in 16-bit fixed point, the weights that Pillow uses.
inline std::uint8_t luma(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 32768u) >> 16);
}

inline std::uint8_t to_u8(double value) { return static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0)); }

/// x -> start + factor · (x - start), through a table: 256 roundings instead of one per byte.
void blend_with_level(std::uint8_t* pixels, int bytes, double start, double factor) {
  std::array<std::uint8_t, 256> table;
  for (int x = 0; x < 256; ++x) table[static_cast<std::size_t>(x)] = to_u8(start + factor * (x - start));
  for (int i = 0; i < bytes; ++i) pixels[i] = table[pixels[i]];
}

void change_contrast(std::uint8_t* pixels, int count, int channels, double factor) {
  std::uint64_t sum = 0;
  if (channels == 3)
    for (int i = 0; i < count; ++i) sum += luma(pixels + 3 * i);
  else
    for (int i = 0; i < count; ++i) sum += pixels[i];
  const double mean = std::floor(static_cast<double>(sum) / count + 0.5);
  blend_with_level(pixels, count * channels, mean, factor);
}

void change_saturation(std::uint8_t* pixels, int count, double factor) {
  constexpr int one = 1 << 14;
  const int strength = static_cast<int>(factor * one);
  for (int i = 0; i < count; ++i) {
    const int grey = luma(pixels + 3 * i);
    for (int c = 0; c < 3; ++c) {
      const int mixed = grey * one + strength * (pixels[3 * i + c] - grey);
      pixels[3 * i + c] = static_cast<std::uint8_t>(std::clamp(mixed, 0, 255 * one) / one);
    }
  }
}

}  // namespace

void convert_channels(const std::uint8_t* in, int in_channels, int count, int out_channels, std::uint8_t* out) {
  if (in_channels == out_channels)
    std::memcpy(out, in, static_cast<std::size_t>(count) * static_cast<std::size_t>(in_channels));
  else if (out_channels == 3)
    for (int i = 0; i < count; ++i) out[3 * i] = out[3 * i + 1] = out[3 * i + 2] = in[i];
  else
    for (int i = 0; i < count; ++i) out[i] = luma(in + 3 * i);
}

void ColorJitter::apply(std::uint8_t* pixels, int count, int channels, Stream& random) const {
  enum Step { brighten, contrasten, saturate };
  std::array<std::pair<Step, double>, 3> steps;
  int active = 0;
  const auto draw = [&](Step step, double strength) {
    if (strength > 0)
      steps[static_cast<std::size_t>(active++)] = {step, random.uniform(std::max(0.0, 1 - strength), 1 + strength)};
  };
  draw(brighten, brightness);
  draw(contrasten, contrast);
  draw(saturate, saturation);
  // Fisher-Yates: the order matters, as each step clips.
  for (int i = active - 1; i > 0; --i)
    std::swap(steps[static_cast<std::size_t>(i)], steps[random.below(static_cast<std::uint64_t>(i) + 1)]);
  for (int i = 0; i < active; ++i) {
    const auto [step, factor] = steps[static_cast<std::size_t>(i)];
    if (step == brighten) blend_with_level(pixels, count * channels, 0, factor);
    if (step == contrasten) change_contrast(pixels, count, channels, factor);
    if (step == saturate && channels == 3) change_saturation(pixels, count, factor);
  }
}

}  // namespace flowtrain
