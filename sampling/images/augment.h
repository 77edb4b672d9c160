#pragma once
// What is done to a training picture at random, and how it is drawn: first a list of steps, then the steps.

#include <array>
#include <string>
#include <vector>

#include "sampling/core/random.h"
#include "sampling/images/tone.h"
#include "sampling/images/warp.h"

namespace flowtrain {

/// One thing to do, with all that was drawn for it.
struct AugmentStep {
  enum class Kind {
    brightness,
    contrast,
    saturation,
    hue,
    sharpness,  ///< by `amount`; see tone.h
    grey,
    blur,
    solarize,
    posterize,
    autocontrast,
    equalize,
    warp,  ///< by `map`
  };
  Kind kind;
  double amount = 0;
  AffineMap map = {};
  Sampling sampling = Sampling::bilinear;
};

/// "brightness 1.2", for people.
std::string describe(const AugmentStep& step);
/// Does it, in place.
void apply(const AugmentStep& step, const Pixels& pixels);

/// RandAugment: E. Cubuk et al., 2019; TrivialAugment (wide): S. Müller, F. Hutter, 2021. With the operations and the
/// strengths of torchvision's classes of these names.
enum class AugmentPolicy { none, randaugment, trivialaugment };

/// What may be done, in this order. Of zeros (and {0, 0}, {1, 1}) nothing is drawn.
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
