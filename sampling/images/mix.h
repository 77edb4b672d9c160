#pragma once
// What is drawn for whole batches of training pictures: mixup, cutmix, random erasing.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sampling/images/pixel_rule.h"

namespace flowtrain {

/// What was drawn for the rows of one batch that a process holds.
struct BatchMix {
  enum class Kind : std::uint8_t { none, mixup, cutmix };
  Kind kind = Kind::none;
  double own = 1;    ///< weight of a row's own label; its partner's has the rest
  PixelBox cut = {};
  bool noise = false;
  std::vector<RowMix> rows;

  /// Refers to `rows`.
  PixelMix pixels() const { return {rows.data(), kind == Kind::mixup ? static_cast<float>(own) : 1.0f, cut, noise}; }
};

/// "cutmix 0.7, columns 3 to 9 of lines 0 to 5", for people; "" where nothing is mixed.
std::string describe(const BatchMix& mix);
/// "columns 3 to 9 of lines 0 to 5"; the last of each is left out. "" where it is empty.
std::string describe(const PixelBox& box);

/// Random erasing: Z. Zhong et al., 2017, with torchvision's and timm's choice of the shape: ten attempts, the logarithm
/// of height / width uniform.
struct Erasing {
  double prob = 0;                        ///< of each picture
  std::array<double, 2> scale{0.02, 0.33};  ///< least and most share of the area, as drawn: sides are rounded to pixels
  std::array<double, 2> ratio{0.3, 3.3};    ///< least and most height / width
  bool noise = false;                     ///< each value becomes a random level; otherwise pixels get the mean colour
};

/// mixup: H. Zhang et al., ICLR 2018; cutmix: S. Yun et al., ICCV 2019. One of them for a batch, with one weight.
struct Mixing {
  double mixup = 0, cutmix = 0;  ///< alpha: weights are drawn from Beta(alpha, alpha); 0: off
  double prob = 1;               ///< that a batch is mixed
  double switch_prob = 0.5;      ///< that it is cutmix, where both are on
  Erasing erase = {};

  bool mixes() const { return prob > 0 && (mixup > 0 || cutmix > 0); }
  bool any() const { return mixes() || erase.prob > 0; }

  /// Pure in its arguments. What is drawn for all depends on the seed and the batch's `number` in the stream; what is
  /// erased of a row on the seed and its position, of which the first row has `first`. Neither knows how many processes
  /// there are. Partners are neighbours: rows 0 and 1, 2 and 3, …, an odd one at the end takes the one before it; so
  /// where every process holds an even number of rows, they are the same whatever their number.
  void draw(std::uint64_t seed, std::uint64_t number, std::uint64_t first, std::size_t rows, const PictureShape& shape,
            BatchMix& into) const;
};

}  // namespace flowtrain
