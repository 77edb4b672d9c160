#pragma once
// What is drawn for whole batches of training pictures: mixup, cutmix, random erasing, colours.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sampling/images/pixel_rule.h"

namespace flowtrain {

/// Factors of a picture's colours; 1 leaves them as they are.
struct ColorFactors {
  double brightness = 1, contrast = 1, saturation = 1;
  double hue = 0;  ///< of a full turn, -0.5 … 0.5
};

/// Brightness, contrast and saturation as torchvision has them, hue as a turn in YIQ's plane of colours, as DALI has
/// it: each is linear, and all multiplied out are the same in any order. Kept within a byte's range once, at the end.
Tint tint_of(const ColorFactors& factors);

/// "brightness 1.2, contrast 0.8, saturation 1, hue 0.05".
std::string describe(const ColorFactors& factors);

/// What was drawn for the rows of one batch that a process holds.
struct BatchMix {
  enum class Kind : std::uint8_t { none, mixup, cutmix };
  Kind kind = Kind::none;
  double own = 1;  ///< weight of a row's own label; its partner's has the rest
  PixelBox cut = {};
  bool noise = false, tints = false;
  std::vector<RowMix> rows;
  std::vector<ColorFactors> colors;  ///< where `tints`: what the rows' tints were made of

  /// Refers to `rows`. Where `tints`, grey levels are still to be measured.
  PixelMix pixels() const {
    return {rows.data(), kind == Kind::mixup ? static_cast<float>(own) : 1.0f, cut, noise, tints};
  }
};

/// "cutmix 0.7, columns 3 to 9 of lines 0 to 5"; "" where nothing is mixed.
std::string describe(const BatchMix& mix);
/// "columns 3 to 9 of lines 0 to 5"; the last of each is left out. "" where it is empty.
std::string describe(const PixelBox& box);

/// Random erasing: Z. Zhong et al., 2017, with torchvision's and timm's choice of the shape: ten attempts, the
/// logarithm of height / width uniform.
struct Erasing {
  double prob = 0;                          ///< of each picture
  std::array<double, 2> scale{0.02, 0.33};  ///< least and most share of the area, as drawn: sides are rounded to pixels
  std::array<double, 2> ratio{0.3, 3.3};    ///< least and most height / width
  bool noise = false;                       ///< each value becomes a random level; otherwise pixels get the mean colour
};

/// Colour jitter of RGB pictures: each factor uniform in 1 ± its amount, hue in ± its amount.
struct ColorJitter {
  double prob = 1;  ///< of each picture
  double brightness = 0, contrast = 0, saturation = 0;
  double hue = 0;  ///< of a full turn, up to 0.5

  bool any() const { return prob > 0 && (brightness > 0 || contrast > 0 || saturation > 0 || hue > 0); }
};

/// mixup: H. Zhang et al., ICLR 2018; cutmix: S. Yun et al., ICCV 2019. One of them for a batch, with one weight.
struct Mixing {
  double mixup = 0, cutmix = 0;  ///< alpha: weights are drawn from Beta(alpha, alpha); 0: off
  double prob = 1;               ///< that a batch is mixed
  double switch_prob = 0.5;      ///< that it is cutmix, where both are on
  Erasing erase = {};
  ColorJitter color = {};

  bool mixes() const { return prob > 0 && (mixup > 0 || cutmix > 0); }
  bool any() const { return mixes() || erase.prob > 0 || color.any(); }

  /// Pure in its arguments. What is drawn for the whole batch depends on the seed and the batch's `number` in the
  /// stream. A row's colours and its erased box depend on the seed and the row's position; the first row has position
  /// `first`. Neither depends on how many processes there are. Partners are neighbours: rows 0 and 1, 2 and 3, …; an
  /// odd row at the end takes the one before it. So if every process holds an even number of rows, the partners are the
  /// same for any number of processes.
  void draw(std::uint64_t seed, std::uint64_t number, std::uint64_t first, std::size_t rows, const PictureShape& shape,
            BatchMix& into) const;
};

}  // namespace flowtrain
