#include "sampling/images/mix.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "sampling/core/random.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

/// Draws the logarithm of a Gamma(alpha, 1): for small alphas the value itself would underflow. G. Marsaglia, W. W.
/// Tsang, "A Simple Method for Generating Gamma Variables", 2000.
double log_gamma_variate(double alpha, Stream& random) {
  if (alpha < 1) return log_gamma_variate(alpha + 1, random) + std::log(1 - random.uniform()) / alpha;
  const double d = alpha - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root, u = 1 - random.uniform();
    if (std::log(u) < x * x / 2 + d - d * v + d * std::log(v)) return std::log(d * v);
  }
}

/// Draws from Beta(alpha, alpha).
double beta_variate(double alpha, Stream& random) {
  const double first = log_gamma_variate(alpha, random), second = log_gamma_variate(alpha, random);
  return 1 / (1 + std::exp(second - first));
}

/// Draws a box of about `share` of the image around a point anywhere in it, which the edges may cut off.
PixelBox draw_cut(double share, const PictureShape& shape, Stream& random) {
  const double side = std::sqrt(share);
  const int width = static_cast<int>(shape.width * side), height = static_cast<int>(shape.height * side);
  const auto x = static_cast<int>(random.below(static_cast<std::uint64_t>(shape.width)));
  const auto y = static_cast<int>(random.below(static_cast<std::uint64_t>(shape.height)));
  return {std::max(x - width / 2, 0), std::max(y - height / 2, 0), std::min(x + width / 2, shape.width),
          std::min(y + height / 2, shape.height)};
}

PixelBox draw_erased(const Erasing& erase, const PictureShape& shape, Stream& random) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = random.uniform(erase.scale[0], erase.scale[1]) * shape.height * shape.width;
    const double ratio = std::exp(random.uniform(std::log(erase.ratio[0]), std::log(erase.ratio[1])));
    const auto height = static_cast<std::int32_t>(std::nearbyint(std::sqrt(area * ratio)));
    const auto width = static_cast<std::int32_t>(std::nearbyint(std::sqrt(area / ratio)));
    if (height < 1 || width < 1 || height >= shape.height || width >= shape.width) continue;
    const auto top = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(shape.height - height + 1)));
    const auto left = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(shape.width - width + 1)));
    return {left, top, left + width, top + height};
  }
  return {};
}

using Matrix = std::array<std::array<double, 3>, 3>;

Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix product{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t k = 0; k < 3; ++k) product[i][j] += a[i][k] * b[k][j];
  return product;
}

// Matrices from RGB to grey and two colour differences (FCC's YIQ), and back: the inverse in double precision.
constexpr Matrix yiq{{{0.299, 0.587, 0.114}, {0.595716, -0.274453, -0.321263}, {0.211456, -0.522591, 0.311135}}};
constexpr Matrix from_yiq{{{1, 0.95629571975894834, 0.62102441646526108},
                           {1, -0.27212209931851045, -0.64738059682569504},
                           {1, -1.1069890167364902, 1.7046149983646481}}};

ColorFactors draw_colors(const ColorJitter& jitter, Stream& random) {
  if (random.uniform() >= jitter.prob) return {};
  const auto around = [&](double amount) { return random.uniform(std::max(0.0, 1 - amount), 1 + amount); };
  // Braces evaluate from left to right.
  return {.brightness = around(jitter.brightness),
          .contrast = around(jitter.contrast),
          .saturation = around(jitter.saturation),
          .hue = random.uniform(-jitter.hue, jitter.hue)};
}

std::int32_t partner_of(std::size_t row, std::size_t rows) {
  const std::size_t neighbour = row ^ 1;
  return static_cast<std::int32_t>(neighbour < rows ? neighbour : row > 0 ? row - 1 : row);
}

}  // namespace

Tint tint_of(const ColorFactors& factors) {
  const double angle = 2 * std::numbers::pi * factors.hue, cos = std::cos(angle), sin = std::sin(angle);
  const double s = factors.saturation;
  const Matrix turn{{{1, 0, 0}, {0, s * cos, -s * sin}, {0, s * sin, s * cos}}};
  const Matrix changed = from_yiq * turn * yiq;
  Tint tint;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      tint.m[i][j] = static_cast<float>(factors.brightness * factors.contrast * changed[i][j]);
  tint.lift = static_cast<float>(factors.brightness * (1 - factors.contrast));
  return tint;
}

std::string describe(const ColorFactors& factors) {
  char text[128];
  std::snprintf(text, sizeof text, "brightness %.4g, contrast %.4g, saturation %.4g, hue %.4g", factors.brightness,
                factors.contrast, factors.saturation, factors.hue);
  return text;
}

std::string describe(const PixelBox& box) {
  if (box.left >= box.right || box.top >= box.bottom) return "";
  return concat("columns ", box.left, " to ", box.right, " of lines ", box.top, " to ", box.bottom);
}

std::string describe(const BatchMix& mix) {
  if (mix.kind == BatchMix::Kind::none) return "";
  char text[64];
  std::snprintf(text, sizeof text, "%s %.9g", mix.kind == BatchMix::Kind::mixup ? "mixup" : "cutmix", mix.own);
  const std::string cut = describe(mix.cut);
  return cut.empty() ? text : text + (", " + cut);
}

void Mixing::draw(std::uint64_t seed, std::uint64_t number, std::uint64_t first, std::size_t rows,
                  const PictureShape& shape, BatchMix& into) const {
  into.kind = BatchMix::Kind::none;
  into.own = 1;
  into.cut = {};
  into.noise = erase.noise;
  into.tints = color.any();
  into.rows.assign(rows, {});
  into.colors.clear();
  for (std::size_t row = 0; row < rows; ++row) {
    into.rows[row].partner = partner_of(row, rows);
    if (into.tints) {
      Stream colours(seed, Purpose::color, first + row);
      into.colors.push_back(draw_colors(color, colours));
      into.rows[row].tint = tint_of(into.colors.back());
    }
    Stream random(seed, Purpose::erase, first + row);
    if (erase.prob <= 0 || random.uniform() >= erase.prob) continue;
    into.rows[row].noise = random.next64();
    into.rows[row].erased = draw_erased(erase, shape, random);
  }

  Stream random(seed, Purpose::mix, number);
  if (!mixes() || random.uniform() >= prob) return;
  const bool cuts = cutmix > 0 && (mixup <= 0 || random.uniform() < switch_prob);
  into.kind = cuts ? BatchMix::Kind::cutmix : BatchMix::Kind::mixup;
  into.own = beta_variate(cuts ? cutmix : mixup, random);
  if (!cuts) return;
  into.cut = draw_cut(1 - into.own, shape, random);
  const double cut = static_cast<double>(into.cut.right - into.cut.left) * (into.cut.bottom - into.cut.top);
  into.own = 1 - cut / (static_cast<double>(shape.height) * shape.width);
}

}  // namespace flowtrain
