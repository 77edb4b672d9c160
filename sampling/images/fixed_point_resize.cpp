#include "sampling/images/fixed_point_resize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "sampling/core/error.h"

namespace flowtrain {
namespace {

constexpr int weight_bits = 11;
constexpr int row_shift = 4;  // 255 · 2^11 / 2^4 still fits 16 bits

/// The two pixels that make an output pixel along one axis; their weights add up to 2^weight_bits.
struct Tap {
  int first, second;
  std::int16_t first_weight, second_weight;
};

std::int16_t fixed(float weight) { return static_cast<std::int16_t>(std::lrint(weight * (1 << weight_bits))); }

/// Returns the place of output pixel `i` of `to` between the `from` pixels of an axis. The roundings are OpenCV's:
/// double until the position is known, then float.
Tap tap_between(int i, int from, int to) {
  const double step = 1 / (static_cast<double>(to) / from);
  const auto position = static_cast<float>((i + 0.5) * step - 0.5);
  const auto before = static_cast<int>(std::floor(position));
  const float share = position - static_cast<float>(before);
  return {std::clamp(before, 0, from - 1), std::clamp(before + 1, 0, from - 1), fixed(1 - share), fixed(share)};
}

template <int channels>
void resize_row(const std::uint8_t* from, const std::vector<Tap>& taps, std::int16_t* to) {
  for (const Tap& tap : taps) {
    const std::uint8_t* first = from + tap.first * channels;
    const std::uint8_t* second = from + tap.second * channels;
    for (int c = 0; c < channels; ++c)
      *to++ = static_cast<std::int16_t>((first[c] * tap.first_weight + second[c] * tap.second_weight) >> row_shift);
  }
}

void resize_row(const std::uint8_t* from, int channels, const std::vector<Tap>& taps, std::int16_t* to) {
  switch (channels) {
    case 1: return resize_row<1>(from, taps, to);
    case 3: return resize_row<3>(from, taps, to);
    default: throw InternalError("resize_fixed_point: an image has neither 1 nor 3 channels");
  }
}

/// Mixes two rows. Each product is truncated before the sum is rounded, as OpenCV does to stay within 16 bits.
void mix_rows(const std::int16_t* __restrict upper, std::int16_t upper_weight, const std::int16_t* __restrict lower,
              std::int16_t lower_weight, int count, std::uint8_t* __restrict to) {
  for (int i = 0; i < count; ++i) {
    const auto above = static_cast<std::int16_t>(upper[i] * upper_weight >> 16);
    const auto below = static_cast<std::int16_t>(lower[i] * lower_weight >> 16);
    to[i] = static_cast<std::uint8_t>((above + below + 2) >> 2);
  }
}

/// Rows of the input, resized along x; the last two are kept, as adjacent output rows share them.
class RowCache {
 public:
  RowCache(const Picture& from, const std::vector<Tap>& across, std::vector<std::int16_t>& memory)
      : from_(from),
        across_(across),
        memory_(memory),
        length_(across.size() * static_cast<std::size_t>(from.channels)) {
    memory_.resize(2 * length_);
  }

  /// Returns a row. Neighbouring rows have separate places, so that both rows of a tap stay valid together.
  const std::int16_t* row(int y) {
    const auto place = static_cast<std::size_t>(y & 1);
    std::int16_t* resized = memory_.data() + place * length_;
    if (held_[place] != y) resize_row(from_.row(y), from_.channels, across_, resized);
    held_[place] = y;
    return resized;
  }

 private:
  const Picture& from_;
  const std::vector<Tap>& across_;
  std::vector<std::int16_t>& memory_;
  std::size_t length_;
  int held_[2] = {-1, -1};
};

}  // namespace

void resize_fixed_point(const Picture& from, int to_height, int to_width, const Window& window, std::uint8_t* to,
                        std::size_t to_stride) {
  thread_local std::vector<Tap> across;
  thread_local std::vector<std::int16_t> memory;
  across.clear();
  for (int x = window.x; x < window.x + window.width; ++x) {
    Tap tap = tap_between(x, from.width, to_width);
    // OpenCV gives the pixel at an edge the whole weight along x, but not along y.
    if (tap.first == tap.second) tap.first_weight = 1 << weight_bits, tap.second_weight = 0;
    across.push_back(tap);
  }
  RowCache rows(from, across, memory);
  for (int y = window.y; y < window.y + window.height; ++y, to += to_stride) {
    const Tap tap = tap_between(y, from.height, to_height);
    mix_rows(rows.row(tap.first), tap.first_weight, rows.row(tap.second), tap.second_weight,
             window.width * from.channels, to);
  }
}

}  // namespace flowtrain
