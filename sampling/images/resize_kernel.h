#pragma once
// A separable resize in the widest vectors of this processor. Only sampling/images includes this file.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace flowtrain::resizing {

/// The input pixels that make each output pixel along one axis, and their weights.
struct Taps {
  struct Span {
    int first, count;
  };
  std::vector<Span> spans;            ///< one span per output pixel
  std::vector<std::int16_t> weights;  ///< `most` per output pixel, in units of 2^-15
  int most = 0;                       ///< the largest possible count

  int count() const { return static_cast<int>(spans.size()); }
};

/// Resizes: output pixel (y, x) is the sum of the input pixels in down.spans[y] and across.spans[x], each times its two
/// weights. Rows of `in` have `columns` pixels of `channels` bytes and are `stride_bytes` apart. Writes down.count() ·
/// across.count() · channels bytes to `out`. All processors give the same bits. Scratch is thread_local.
void resize(const std::uint8_t* in, std::size_t stride_bytes, int columns, int channels, const Taps& down,
            const Taps& across, std::uint8_t* out);

}  // namespace flowtrain::resizing
