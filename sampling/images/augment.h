#pragma once
// Random changes of a training picture: first a list of steps is drawn, then the steps are applied.

#include <array>
#include <string>
#include <vector>

#include "sampling/core/random.h"
#include "sampling/images/tone.h"
#include "sampling/images/warp.h"

namespace flowtrain {

/// One change, with all numbers that were drawn for it.
struct AugmentStep {
  /// All but the last by `amount` (tone.h); warp by `map`.
  enum class Kind {
    brightness,
    contrast,
    saturation,
    hue,
    sharpness,
    grey,
    blur,
    solarize,
    posterize,
    autocontrast,
    equalize,
    warp
  };
  Kind kind;
  double amount = 0;
  AffineMap map = {};
  Sampling sampling = Sampling::bilinear;
};

/// "brightness 1.2".
std::string describe(const AugmentStep& step);
/// Changes the picture, in place.
void apply(const AugmentStep& step, const Pixels& pixels);

/// RandAugment: E. Cubuk et al., 2019; TrivialAugment (wide): S. Müller, F. Hutter, 2021. With the operations and the
/// strengths of torchvision's classes of these names.
enum class AugmentPolicy { none, randaugment, trivialaugment };

/// What may be done, in this order. For zeros, and a zoom of {1, 1}, nothing is drawn.
struct Augmentation {
  AugmentPolicy policy = AugmentPolicy::none;
  int policy_steps = 2;      ///< randaugment: how many
  int policy_magnitude = 9;  ///< randaugment: 0 … 30
  /// torchvision's RandomAffine: up to this many degrees either way, shares of the sides, factors, degrees.
  double rotate = 0, translate = 0, shear = 0;
  std::array<double, 2> zoom{1, 1};
  /// torchvision's ColorJitter: factors from [max(0, 1 - x), 1 + x], in an order that is drawn; hue: turns, up to 0.5.
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;
  /// Probabilities; solarize inverts levels from 128 on, a blur has a deviation of 0.1 … 2 pixels.
  double grey = 0, blur = 0, solarize = 0;

  /// The steps for a picture of that size, into `steps`.
  void draw(int height, int width, Stream& random, std::vector<AugmentStep>& steps) const;
};

}  // namespace flowtrain
