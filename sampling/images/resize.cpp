#include "sampling/images/resize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "sampling/images/crop.h"
#include "sampling/images/resize_kernel.h"

namespace flowtrain {
namespace {

using resizing::Taps;

/// Sets the weights of output pixel i. Rounding their running sum makes them add up to one, so flat areas stay flat.
void weigh(Taps& taps, int i, double centre, double support) {
  const auto [first, count] = taps.spans[static_cast<std::size_t>(i)];
  const auto weight = [&, first = first](int k) {
    return std::max(0.0, 1 - std::abs(first + k - centre + 0.5) / support);
  };
  double sum = 0, running = 0;
  for (int k = 0; k < count; ++k) sum += weight(k);
  int given = 0;
  std::int16_t* const to = taps.weights.data() + static_cast<std::size_t>(i * taps.most);
  for (int k = 0; k < count; ++k) {
    running += weight(k);
    const int upto = std::min(static_cast<int>(std::lround(running / sum * 32768)), given + 32767);
    to[k] = static_cast<std::int16_t>(upto - given);
    given = upto;
  }
}

/// Builds the taps that make `length` pixels from `start` on, of an axis of `end`, `count` pixels, maybe `mirrored`.
void build(Taps& taps, int end, double start, double length, Filter filter, bool mirrored, int count) {
  const double step = length / count;
  // The support is half the triangle's width; it is wider than 1 if the image shrinks.
  const double support = filter == Filter::antialias ? std::max(step, 1.0) : 1.0;
  taps.most = static_cast<int>(std::ceil(support)) * 2 + 1;
  taps.spans.resize(static_cast<std::size_t>(count));
  taps.weights.resize(static_cast<std::size_t>(count) * static_cast<std::size_t>(taps.most));
  for (int i = 0; i < count; ++i) {
    const double centre = start + ((mirrored ? count - 1 - i : i) + 0.5) * step;
    const int first = std::clamp(static_cast<int>(centre - support + 0.5), 0, end - 1);
    const int last = std::clamp(static_cast<int>(centre + support + 0.5), first + 1, end);
    taps.spans[static_cast<std::size_t>(i)] = {first, last - first};
    weigh(taps, i, centre, support);
  }
}

/// Makes the spans count from the first column that any of them uses. Returns that column and the number of columns.
std::pair<int, int> cut_to_spans(Taps& taps) {
  const auto end_of = [](const Taps::Span& span) { return span.first + span.count; };
  const auto &one = taps.spans.front(), &other = taps.spans.back();
  const int first = std::min(one.first, other.first), end = std::max(end_of(one), end_of(other));
  for (auto& span : taps.spans) span.first -= first;
  return {first, end - first};
}

bool is_whole(double value) { return value == std::floor(value); }

}  // namespace

void resize(const Picture& in, const Rect& from, Filter filter, bool mirrored, int height, int width,
            std::uint8_t* out) {
  if (from.width == width && from.height == height && is_whole(from.x) &&
      is_whole(from.y)) {  // there is no need to filter
    copy_window(in, static_cast<int>(from.x), static_cast<int>(from.y), height, width, out);
    if (mirrored) flip_horizontally(out, height, width, in.channels);
    return;
  }
  thread_local Taps down, across;
  build(down, in.height, from.y, from.height, filter, false, height);
  build(across, in.width, from.x, from.width, filter, mirrored, width);
  const auto [first, columns] = cut_to_spans(across);
  resizing::resize(in.pixels + first * in.channels, in.stride_bytes, columns, in.channels, down, across, out);
}

}  // namespace flowtrain
