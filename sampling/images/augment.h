#pragma once
// Random changes of a training image: first a list of steps is drawn, then the steps are applied.

#include <array>
#include <string>
#include <vector>

#include "sampling/core/random.h"
#include "sampling/images/tone.h"
#include "sampling/images/warp.h"

namespace flowtrain {

/// One change, with all numbers that were drawn for it.
struct AugmentStep {
  /// The kind of change: warp uses `map`, all others use `amount` (tone.h).
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

/// Returns "brightness 1.2".
std::string describe(const AugmentStep& step);
/// Changes the image in place.
void apply(const AugmentStep& step, const Pixels& pixels);

/// RandAugment (E. Cubuk et al., 2019) and TrivialAugment (wide; S. Müller, F. Hutter, 2021), with the operations and
/// strengths of torchvision's classes of these names.
enum class AugmentPolicy { none, randaugment, trivialaugment };

/// The possible changes, in this order. Zeros, and a zoom of {1, 1}, draw nothing.
struct Augmentation {
  AugmentPolicy policy = AugmentPolicy::none;
  int policy_steps = 2;      ///< number of randaugment's steps
  int policy_magnitude = 9;  ///< magnitude of randaugment, 0 … 30
  /// Ranges like torchvision's RandomAffine: degrees either way, shares of the sides, factors, degrees.
  double rotate = 0, translate = 0, shear = 0;
  std::array<double, 2> zoom{1, 1};
  /// Ranges like torchvision's ColorJitter: factors from [max(0, 1 - x), 1 + x], in any order; hue in turns, up to 0.5.
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;
  /// Probabilities; solarize inverts levels from 128 on, a blur has a deviation of 0.1 … 2 pixels.
  double grey = 0, blur = 0, solarize = 0;

  /// Draws the steps for an image of that size into `steps`.
  void draw(int height, int width, Stream& random, std::vector<AugmentStep>& steps) const;
};

}  // namespace flowtrain
