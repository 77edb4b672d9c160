#include "sampling/samplers/cornernet/color.h"

#include <cstddef>

namespace flowtrain {
namespace {

using Colour = std::array<double, 3>;  // blue, green, red

constexpr Colour grey_weights{0.114, 0.587, 0.299};  // ITU-R 601

// These are the constants of COCO's images and of ImageNet's colours with which the published nets were trained.
constexpr Colour mean{0.40789654, 0.44719302, 0.47026115};
constexpr Colour deviation{0.28863828, 0.27408164, 0.27809835};
constexpr Colour eigenvalues{0.2141788, 0.01817699, 0.00341571};
constexpr std::array<Colour, 3> eigenvectors{{{-0.58752847, -0.69563484, 0.41340352},
                                              {-0.5832747, 0.00994535, -0.81221408},
                                              {-0.56089297, 0.71832671, 0.41158938}}};

}  // namespace

void ColorMap::jitter(JitterStep step, double factor, double mean_grey) {
  for (std::size_t c = 0; c < 3; ++c) {
    own_[c] *= factor;
    grey_[c] *= factor;
    shift_[c] *= factor;
    if (step == JitterStep::contrast) shift_[c] += mean_grey * (1 - factor);
    if (step == JitterStep::saturation) grey_[c] += 1 - factor;
  }
}

void ColorMap::light(const Colour& alpha) {
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t axis = 0; axis < 3; ++axis) shift_[c] += eigenvectors[c][axis] * eigenvalues[axis] * alpha[axis];
}

void ColorMap::normalize() {
  for (std::size_t c = 0; c < 3; ++c) {
    own_[c] /= deviation[c];
    grey_[c] /= deviation[c];
    shift_[c] = (shift_[c] - mean[c]) / deviation[c];
  }
}

void ColorMap::apply(const std::uint8_t* rgb, std::size_t count, float* bgr) const {
  // The map as a matrix for values in 0 … 255: to[c] = Σ weights[c][k] · from[k] + shift[c].
  float weights[3][3], shift[3];
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t k = 0; k < 3; ++k)
      weights[c][k] = static_cast<float>((grey_[c] * grey_weights[k] + (c == k ? own_[c] : 0)) / 255);
    shift[c] = static_cast<float>(shift_[c]);
  }
  for (std::size_t i = 0; i < count; ++i, rgb += 3, bgr += 3) {
    const float blue = rgb[2], green = rgb[1], red = rgb[0];
    for (std::size_t c = 0; c < 3; ++c)
      bgr[c] = weights[c][0] * blue + weights[c][1] * green + weights[c][2] * red + shift[c];
  }
}

double mean_grey(const std::uint8_t* rgb, std::size_t count) {
  std::uint64_t red = 0, green = 0, blue = 0;
  for (std::size_t i = 0; i < count; ++i, rgb += 3) {
    red += rgb[0];
    green += rgb[1];
    blue += rgb[2];
  }
  const double sum = grey_weights[0] * static_cast<double>(blue) + grey_weights[1] * static_cast<double>(green) +
                     grey_weights[2] * static_cast<double>(red);
  return sum / (255 * static_cast<double>(count));
}

void draw_jitter(const std::uint8_t* rgb, std::size_t count, DrawSource& draws, ColorMap& map) {
  const double grey = mean_grey(rgb, count);
  for (const JitterStep step : draws.shuffle()) map.jitter(step, 1 + draws.jitter(), grey);
}

}  // namespace flowtrain
