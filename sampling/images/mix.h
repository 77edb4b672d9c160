#pragma once
// Random changes of whole batches of training images: mixup, cutmix, random erasing, colours.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sampling/images/pixel_rule.h"

namespace flowtrain {

/// Factors of an image's colours; 1 leaves them as they are.
struct ColorFactors {
  double brightness = 1, contrast = 1, saturation = 1;
  double hue = 0;  ///< share of a full turn, -0.5 … 0.5
};

/// Combines brightness, contrast and saturation like torchvision's, and hue as a turn in YIQ's plane of colours, like
/// DALI's: each is linear, so the order does not matter. Values are clamped to a byte's range at the end.
Tint tint_of(const ColorFactors& factors);

/// Returns "brightness 1.2, contrast 0.8, saturation 1, hue 0.05".
std::string describe(const ColorFactors& factors);

/// The draws for the rows of one batch that a process holds.
struct BatchMix {
  enum class Kind : std::uint8_t { none, mixup, cutmix };
  Kind kind = Kind::none;
  double own = 1;  ///< weight of a row's own label; its partner has the rest
  PixelBox cut = {};
  bool noise = false, tints = false;
  std::vector<RowMix> rows;
  std::vector<ColorFactors> colors;  ///< if `tints`: the factors behind the rows' tints

  /// Returns a view of `rows`. If `tints`, grey levels must still be measured.
  PixelMix pixels() const {
    return {rows.data(), kind == Kind::mixup ? static_cast<float>(own) : 1.0f, cut, noise, tints};
  }
};

/// Returns "cutmix 0.7, columns 3 to 9 of lines 0 to 5"; "" if nothing is mixed.
std::string describe(const BatchMix& mix);
/// Returns "columns 3 to 9 of lines 0 to 5", with exclusive ends; "" for an empty box.
std::string describe(const PixelBox& box);

/// Random erasing: Z. Zhong et al., 2017, with the choice of the shape of torchvision and timm: ten attempts, the
/// logarithm of height / width uniform.
struct Erasing {
  double prob = 0;                          ///< probability for each image
  std::array<double, 2> scale{0.02, 0.33};  ///< least and most share of the area, before sides are rounded to pixels
  std::array<double, 2> ratio{0.3, 3.3};    ///< least and most height / width
  bool noise = false;                       ///< each value becomes a random level; otherwise pixels get the mean colour
};

/// Colour jitter of RGB images: each factor uniform in 1 ± its amount, hue in ± its amount.
struct ColorJitter {
  double prob = 1;  ///< probability for each image
  double brightness = 0, contrast = 0, saturation = 0;
  double hue = 0;  ///< share of a full turn, up to 0.5

  bool any() const { return prob > 0 && (brightness > 0 || contrast > 0 || saturation > 0 || hue > 0); }
};

/// mixup (H. Zhang et al., ICLR 2018) and cutmix (S. Yun et al., ICCV 2019). A batch gets one of them, with one weight.
struct Mixing {
  double mixup = 0, cutmix = 0;  ///< alpha: weights are drawn from Beta(alpha, alpha); 0: off
  double prob = 1;               ///< probability that a batch is mixed
  double switch_prob = 0.5;      ///< probability of cutmix, if both are on
  Erasing erase = {};
  ColorJitter color = {};

  bool mixes() const { return prob > 0 && (mixup > 0 || cutmix > 0); }
  bool any() const { return mixes() || erase.prob > 0 || color.any(); }

  /// Draws for one batch; it is a pure function of its arguments. The batch's draws depend on the seed and its `number`
  /// in the stream. A row's colours and its erased box depend on the seed and the row's position; the first row has
  /// position `first`. Neither depends on the number of processes. Partners are neighbours: rows 0 and 1, 2 and 3, …;
  /// an odd row at the end takes the one before it. So if every process holds an even number of rows, partners do not
  /// depend on it either.
  void draw(std::uint64_t seed, std::uint64_t number, std::uint64_t first, std::size_t rows, const PictureShape& shape,
            BatchMix& into) const;
};

}  // namespace flowtrain
