#pragma once
// Turns a batch's u8 images into a net's input on the CPU: erases, mixes, normalises and lays out in one pass.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sampling/images/pixel_rule.h"

namespace flowtrain {

/// Returns the rule that makes (x / 255 - mean) / stddev from a byte x, per channel. Erased pixels become 0, the mean.
PixelRule normalising(const std::vector<float>& mean, const std::vector<float>& stddev);

/// Returns a field's mean or stddev as floats, one for each channel; `missing` if the field has none.
std::vector<float> per_channel(const std::vector<double>& values, int channels, float missing);

/// Writes the mean grey levels of rows [first, last) of `from`, (rows, height, width, 3) u8, to the same rows of `to`.
void measure_grey(const std::uint8_t* from, std::int64_t first, std::int64_t last, const PictureShape& shape,
                  float* to);

/// Finishes images. Const, and called by several threads at once; scratch memory is thread_local.
class PictureFinisher {
 public:
  /// `shape` is that of the largest images. `planar`: writes (rows, channels, height, width) instead of (rows, height,
  /// width, channels).
  PictureFinisher(PictureShape shape, const PixelRule& rule, bool planar);

  /// Rows of images of one shape, not larger than the constructor's.
  struct Rows {
    const std::uint8_t* from;  ///< (rows, height, width, channels)
    PictureShape shape;
    const PixelMix* mix = nullptr;  ///< null: none; partners may be any of the rows
  };
  /// Finishes rows [first, last) into the same rows of `to`.
  void operator()(const Rows& rows, std::int64_t first, std::int64_t last, float* to) const;

 private:
  /// A line of an output image: its first value, and the distance to the next channel if the output is planar.
  struct Line {
    float* at;
    std::size_t apart;
  };
  void write(const Rows& rows, std::int64_t row, int y, int begin, int end, Line to) const;
  void mix_in(const Rows& rows, std::int64_t partner, int y, Line to) const;

  PictureShape shape_;
  std::size_t parts_, unit_;  // parts of a line: 1 with `channels` values per pixel, or one for each channel
  std::vector<float> scale_, shift_, fill_;  // values for each value of a line, in its layout
};

}  // namespace flowtrain
