#pragma once
// Turns a batch's u8 pictures into a net's input on the CPU: erases, mixes, normalises and lays out in one pass.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sampling/images/pixel_rule.h"

namespace flowtrain {

/// The rule that makes (x / 255 - mean) / stddev of a byte x, per channel. Erased pixels become 0, which is the mean.
PixelRule normalising(const std::vector<float>& mean, const std::vector<float>& stddev);

/// A field's mean or stddev as floats, a value for each channel; `missing` where the field gives none.
std::vector<float> per_channel(const std::vector<double>& values, int channels, float missing);

/// Rows [first, last) of `from`, (rows, height, width, 3) u8: the mean grey level of each, to the same places of `to`.
void measure_grey(const std::uint8_t* from, std::int64_t first, std::int64_t last, const PictureShape& shape,
                  float* to);

/// For pictures of one shape. Const, and called by several threads at once; scratch memory is thread_local.
class PictureFinisher {
 public:
  /// `planar`: writes (rows, channels, height, width) instead of (rows, height, width, channels).
  PictureFinisher(PictureShape shape, const PixelRule& rule, bool planar);

  /// Rows [first, last) of `from`, (rows, height, width, channels) u8, to the same rows of `to`, f32. `mix` may be
  /// null; its partners may be any rows of `from`.
  void operator()(const std::uint8_t* from, std::int64_t first, std::int64_t last, const PixelMix* mix,
                  float* to) const;

 private:
  /// A line of an output picture: its first value, and the distance to the next channel's if the output is planar.
  struct Line {
    float* at;
    std::size_t apart;
  };
  void write(const std::uint8_t* from, const PixelMix* mix, std::int64_t row, int y, int begin, int end, Line to) const;
  void mix_in(const std::uint8_t* from, const PixelMix& mix, std::int64_t partner, int y, Line to) const;

  PictureShape shape_;
  std::size_t parts_, unit_;  // of a line: 1 part of `channels` values a pixel, or a part for each channel
  std::vector<float> scale_, shift_, fill_;  // of each value of a line, as it is laid out
};

}  // namespace flowtrain
