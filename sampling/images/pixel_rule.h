#pragma once
// The rules that turn the bytes of a batch's images into a net's input: plain structs for the CPU's and the GPU's code.
// They are C++17, since nvcc compiles this file, too.

#include <cstdint>
#include <vector>

namespace flowtrain {

/// The pixels of a box: columns [left, right) of lines [top, bottom). It is empty if right is left.
struct PixelBox {
  std::int32_t left = 0, top = 0, right = 0, bottom = 0;
};

/// The shape of a batch's images: (rows, height, width, channels) bytes.
struct PictureShape {
  int height = 0, width = 0, channels = 0;
};

/// The rule by channel: a byte x becomes x · scale + shift in f32, rounded after each; erased pixels become `fill`.
struct PixelRule {
  std::vector<float> scale, shift, fill;
};

/// A change of an RGB image's colours: a byte of channel c becomes m[c][0] · red + m[c][1] · green + m[c][2] · blue +
/// lift · grey, summed from left to right, each step rounded to f32; clamped to 0 … 255 and rounded to a byte, half to
/// even. `grey` is the image's mean grey level: (0.299 · R + 0.587 · G + 0.114 · B) / pixels of the channels' sums, in
/// f64 from left to right, then f32.
struct Tint {
  float m[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  float lift = 0;
};

/// The draws for one row of a batch.
struct RowMix {
  PixelBox erased;
  std::int32_t partner = 0;  ///< the row that it is mixed with
  std::uint64_t noise = 0;   ///< key of the noise that fills `erased`, if it is noise
  Tint tint = {};
};

/// The draws for a batch. An image is tinted first, then erased, then mixed with its partner, which was tinted and
/// erased, too.
struct PixelMix {
  const RowMix* rows = nullptr;  ///< one for each row of the batch
  float own = 1;                 ///< a pixel becomes own · itself + (1 - own) · the partner's; 1: nothing is blended
  PixelBox cut = {};             ///< the pixels that come from the partner
  bool noise = false;            ///< erased pixels become noise, in bytes before the rule, instead of its fill
  bool tints = false;            ///< images of 3 channels get their rows' tints
  const float* grey = nullptr;   ///< if `tints`: the mean grey level of each row's image
};

/// The step of the noise: byte `index` of a row's noise is byte index % 8, the lowest first, of SplitMix64's output
/// number index / 8 from the row's key on. Bytes are counted in memory order, so any thread may write any part.
inline constexpr std::uint64_t noise_step = 0x9e3779b97f4a7c15ULL;

}  // namespace flowtrain
