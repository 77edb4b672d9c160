#pragma once
// What becomes of the bytes of a batch's pictures on their way into a net, in plain words that the CPU's and the GPU's
// code read alike. C++17, as nvcc compiles it, too.

#include <cstdint>
#include <vector>

namespace flowtrain {

/// Pixels of a picture: columns [left, right) of lines [top, bottom). Empty where right is left.
struct PixelBox {
  std::int32_t left = 0, top = 0, right = 0, bottom = 0;
};

/// Pictures of a batch lie as (rows, height, width, channels) bytes.
struct PictureShape {
  int height = 0, width = 0, channels = 0;
};

/// By channel: a byte x becomes x · scale + shift in f32, rounded after each of the two; what is erased becomes `fill`.
struct PixelRule {
  std::vector<float> scale, shift, fill;
};

/// What was drawn for one row of a batch.
struct RowMix {
  PixelBox erased;
  std::int32_t partner = 0;  ///< the row it is mixed with
  std::uint64_t noise = 0;   ///< keys what fills `erased`, where that is noise
};

/// What was drawn for a batch. A picture is erased first, then mixed with its partner, which was erased likewise.
struct PixelMix {
  const RowMix* rows = nullptr;  ///< one for each row of the batch
  float own = 1;                 ///< a pixel becomes own · itself + (1 - own) · the partner's; 1: nothing is blended
  PixelBox cut = {};             ///< the pixels that are the partner's
  bool noise = false;            ///< erased pixels become noise, in bytes that the rule then sees, instead of its fill
};

/// Byte `index` of a row's noise is byte index % 8, the lowest first, of SplitMix64's output number index / 8 from the
/// row's key on. Counted through (height, width, channels), so it does not matter who writes which part.
inline constexpr std::uint64_t kNoiseStep = 0x9e3779b97f4a7c15ULL;

}  // namespace flowtrain
