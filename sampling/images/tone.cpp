#include "sampling/images/tone.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "sampling/codecs/color.h"

namespace flowtrain {
namespace {

using Table = std::array<std::uint8_t, 256>;

std::uint8_t to_u8(double value) { return static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0)); }

/// Rounds 256 levels once, instead of each byte.
template <class Level>
Table table_of(Level level) {
  Table table;
  for (int x = 0; x < 256; ++x) table[static_cast<std::size_t>(x)] = level(x);
  return table;
}

void look_up(const Pixels& pixels, const Table& table) {
  for (int i = 0; i < pixels.bytes(); ++i) pixels.values[i] = table[pixels.values[i]];
}

void blend_with_level(const Pixels& pixels, double start, double factor) {
  look_up(pixels, table_of([&](int x) { return to_u8(start + factor * (x - start)); }));
}

/// Replaces each channel by a table made from its histogram.
template <class TableOf>
void look_up_by_channel(const Pixels& pixels, TableOf table_of_histogram) {
  for (int c = 0; c < pixels.channels; ++c) {
    std::array<int, 256> histogram{};
    for (int i = c; i < pixels.bytes(); i += pixels.channels) ++histogram[pixels.values[i]];
    const Table table = table_of_histogram(histogram);
    for (int i = c; i < pixels.bytes(); i += pixels.channels) pixels.values[i] = table[pixels.values[i]];
  }
}

Table identity() {
  return table_of([](int x) { return static_cast<std::uint8_t>(x); });
}

/// Converts a colour to (hue 0 … 6, saturation 0 … 1, value 0 … 1); A. R. Smith, "Color gamut transform pairs", 1978.
std::array<double, 3> to_hsv(const std::uint8_t* rgb) {
  const auto [least, most] = std::minmax({rgb[0], rgb[1], rgb[2]});
  const double range = most - least;
  if (range == 0) return {0, 0, most / 255.0};
  double hue = (rgb[0] - rgb[1]) / range + 4;
  if (most == rgb[0])
    hue = (rgb[1] - rgb[2]) / range;
  else if (most == rgb[1])
    hue = (rgb[2] - rgb[0]) / range + 2;
  return {hue < 0 ? hue + 6 : hue, range / most, most / 255.0};
}

void to_rgb(const std::array<double, 3>& hsv, std::uint8_t* rgb) {
  const auto [hue, saturation, value] = hsv;
  const int sector = static_cast<int>(hue) % 6;
  const double part = hue - std::floor(hue);
  const double p = value * (1 - saturation), q = value * (1 - part * saturation),
               t = value * (1 - (1 - part) * saturation);
  const std::array<std::array<double, 3>, 6> colours{
      {{value, t, p}, {q, value, p}, {p, value, t}, {p, q, value}, {t, p, value}, {value, p, q}}};
  for (std::size_t c = 0; c < 3; ++c) rgb[c] = to_u8(colours[static_cast<std::size_t>(sector)][c] * 255 + 0.5);
}

/// Returns position i of an axis of `end`, mirrored at its ends without repeating them.
int reflected(int i, int end) {
  if (end == 1) return 0;
  const int period = 2 * (end - 1);
  i = std::abs(i) % period;
  return i < end ? i : period - i;
}

/// Filters one axis: `count` values, `apart` from one to the next.
void filter_line(const std::uint8_t* from, std::uint8_t* to, int count, int apart, const std::vector<double>& half) {
  const int radius = static_cast<int>(half.size()) - 1;
  for (int i = 0; i < count; ++i) {
    double sum = half[0] * from[i * apart];
    for (int k = 1; k <= radius; ++k)
      sum += half[static_cast<std::size_t>(k)] *
             (from[reflected(i - k, count) * apart] + from[reflected(i + k, count) * apart]);
    to[i * apart] = to_u8(sum + 0.5);
  }
}

}  // namespace

void posterize(const Pixels& pixels, int bits) {
  const int mask = 0xff << (8 - bits);
  look_up(pixels, table_of([&](int x) { return static_cast<std::uint8_t>(x & mask); }));
}

void solarize(const Pixels& pixels, int threshold) {
  look_up(pixels, table_of([&](int x) { return static_cast<std::uint8_t>(x < threshold ? x : 255 - x); }));
}

void autocontrast(const Pixels& pixels) {
  look_up_by_channel(pixels, [](const std::array<int, 256>& histogram) {
    int least = 0, most = 255;
    while (least < 255 && histogram[static_cast<std::size_t>(least)] == 0) ++least;
    while (most > 0 && histogram[static_cast<std::size_t>(most)] == 0) --most;
    if (most <= least) return identity();
    const double scale = 255.0 / (most - least);
    return table_of([&](int x) { return to_u8(x * scale - least * scale); });
  });
}

void equalize(const Pixels& pixels) {
  look_up_by_channel(pixels, [&](const std::array<int, 256>& histogram) {
    const auto last = std::find_if(histogram.rbegin(), histogram.rend(), [](int n) { return n > 0; });
    const int step = (pixels.count() - *last) / 255;
    if (step == 0) return identity();
    int below = step / 2;
    return table_of([&](int x) {
      const int level = below / step;
      below += histogram[static_cast<std::size_t>(x)];
      return static_cast<std::uint8_t>(std::min(level, 255));
    });
  });
}

void make_grey(const Pixels& pixels) {
  if (pixels.channels != 3) return;
  for (int i = 0; i < pixels.count(); ++i) std::fill_n(pixels.values + 3 * i, 3, luma(pixels.values + 3 * i));
}

void change_brightness(const Pixels& pixels, double factor) { blend_with_level(pixels, 0, factor); }

void change_contrast(const Pixels& pixels, double factor) {
  std::uint64_t sum = 0;
  for (int i = 0; i < pixels.count(); ++i) sum += pixels.channels == 3 ? luma(pixels.values + 3 * i) : pixels.values[i];
  blend_with_level(pixels, std::floor(static_cast<double>(sum) / pixels.count() + 0.5), factor);
}

void change_saturation(const Pixels& pixels, double factor) {
  constexpr int one = 1 << 14;
  if (pixels.channels != 3) return;
  const int strength = static_cast<int>(factor * one);
  for (int i = 0; i < pixels.count(); ++i) {
    std::uint8_t* const pixel = pixels.values + 3 * i;
    const int grey = luma(pixel);
    for (int c = 0; c < 3; ++c) {
      const int mixed = grey * one + strength * (pixel[c] - grey);
      pixel[c] = static_cast<std::uint8_t>(std::clamp(mixed, 0, 255 * one) / one);
    }
  }
}

void change_sharpness(const Pixels& pixels, double factor) {
  if (pixels.height < 3 || pixels.width < 3) return;
  thread_local std::vector<std::uint8_t> from;
  from.assign(pixels.values, pixels.values + pixels.bytes());
  const int row = pixels.width * pixels.channels;
  // The outermost pixels have no eight neighbours and stay.
  for (int y = 1; y + 1 < pixels.height; ++y)
    for (int i = pixels.channels; i < row - pixels.channels; ++i) {
      const std::uint8_t* const at = from.data() + y * row + i;
      int sum = 4 * *at;
      for (const int down : {-row, 0, row})
        for (const int across : {-pixels.channels, 0, pixels.channels}) sum += at[down + across];
      const double smooth = std::floor(sum / 13.0 + 0.5);
      pixels.values[y * row + i] = to_u8(smooth + factor * (*at - smooth));
    }
}

void change_hue(const Pixels& pixels, double turns) {
  if (pixels.channels != 3) return;
  for (int i = 0; i < pixels.count(); ++i) {
    auto hsv = to_hsv(pixels.values + 3 * i);
    hsv[0] = std::fmod(hsv[0] + 6 * turns + 6, 6);
    to_rgb(hsv, pixels.values + 3 * i);
  }
}

void blur(const Pixels& pixels, double sigma) {
  std::vector<double> half;
  double sum = 0;
  for (int k = 0; k <= static_cast<int>(std::ceil(3 * sigma)); ++k) {
    half.push_back(std::exp(-k * k / (2 * sigma * sigma)));
    sum += k == 0 ? half.back() : 2 * half.back();
  }
  for (auto& weight : half) weight /= sum;
  thread_local std::vector<std::uint8_t> across;
  across.resize(static_cast<std::size_t>(pixels.bytes()));
  const int row = pixels.width * pixels.channels;
  for (int y = 0; y < pixels.height; ++y)
    for (int c = 0; c < pixels.channels; ++c)
      filter_line(pixels.values + y * row + c, across.data() + y * row + c, pixels.width, pixels.channels, half);
  for (int i = 0; i < row; ++i) filter_line(across.data() + i, pixels.values + i, pixels.height, row, half);
}

}  // namespace flowtrain
