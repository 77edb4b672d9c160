#include "sampling/images/augment.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sampling/core/text.h"

namespace flowtrain {
namespace {

using Change = AugmentStep::Kind;
using Steps = std::vector<AugmentStep>;

constexpr int magnitudes = 31;  // 0 … 30

/// An operation of the two policies, and its strength at the largest magnitude of each.
struct PolicyStep {
  enum class Form { identity, shear_x, shear_y, translate_x, translate_y, rotate, factor, posterize, solarize, whole };
  Form form;
  Change kind;
  double rand, trivial;
};

using Form = PolicyStep::Form;

constexpr PolicyStep policy_operations[] = {{Form::identity, Change::warp, 0, 0},
                                            {Form::shear_x, Change::warp, 0.3, 0.99},
                                            {Form::shear_y, Change::warp, 0.3, 0.99},
                                            {Form::translate_x, Change::warp, 150.0 / 331, 32},
                                            {Form::translate_y, Change::warp, 150.0 / 331, 32},
                                            {Form::rotate, Change::warp, 30, 135},
                                            {Form::factor, Change::brightness, 0.9, 0.99},
                                            {Form::factor, Change::saturation, 0.9, 0.99},
                                            {Form::factor, Change::contrast, 0.9, 0.99},
                                            {Form::factor, Change::sharpness, 0.9, 0.99},
                                            {Form::posterize, Change::posterize, 4, 6},
                                            {Form::solarize, Change::solarize, 255, 255},
                                            {Form::whole, Change::autocontrast, 0, 0},
                                            {Form::whole, Change::equalize, 0, 0}};

void draw_policy_step(bool trivial, int magnitude, int height, int width, Stream& random, Steps& steps) {
  const PolicyStep& drawn = policy_operations[random.below(std::size(policy_operations))];
  if (trivial) magnitude = static_cast<int>(random.below(magnitudes));
  const double share = static_cast<double>(magnitude) / (magnitudes - 1);
  const double strength = share * (trivial ? drawn.trivial : drawn.rand);
  const bool has_sign = drawn.form >= Form::shear_x && drawn.form <= Form::factor;
  const double amount = has_sign && random.below(2) == 1 ? -strength : strength;
  AugmentStep step{drawn.kind, amount, {}, Sampling::nearest};
  switch (drawn.form) {
    case Form::identity: return;
    case Form::shear_x: step.map.b = amount; break;
    case Form::shear_y: step.map.d = amount; break;
    case Form::translate_x: step.map.c = -std::trunc(trivial ? amount : amount * width); break;
    case Form::translate_y: step.map.f = -std::trunc(trivial ? amount : amount * height); break;
    case Form::rotate: step.map = map_of({.degrees = amount}, height, width); break;
    case Form::factor: step.amount = 1 + amount; break;
    case Form::posterize: step.amount = 8 - std::nearbyint(amount); break;
    case Form::solarize: step.amount = 255 - amount; break;
    case Form::whole: break;
  }
  steps.push_back(step);
}

double either_way(double most, Stream& random) { return most > 0 ? random.uniform(-most, most) : 0; }

}  // namespace

std::string describe(const AugmentStep& step) {
  static constexpr const char* names[] = {"brightness", "contrast", "saturation", "hue",          "sharpness", "grey",
                                          "blur",       "solarize", "posterize",  "autocontrast", "equalize",  "warp"};
  const std::string name = names[static_cast<int>(step.kind)];
  const auto& map = step.map;
  switch (step.kind) {
    case Change::warp: return concat(name, " ", map.a, " ", map.b, " ", map.c, ", ", map.d, " ", map.e, " ", map.f);
    case Change::grey:
    case Change::autocontrast:
    case Change::equalize: return name;
    default: return concat(name, " ", step.amount);
  }
}

void apply(const AugmentStep& step, const Pixels& pixels) {
  switch (step.kind) {
    case Change::brightness: return change_brightness(pixels, step.amount);
    case Change::contrast: return change_contrast(pixels, step.amount);
    case Change::saturation: return change_saturation(pixels, step.amount);
    case Change::hue: return change_hue(pixels, step.amount);
    case Change::sharpness: return change_sharpness(pixels, step.amount);
    case Change::grey: return make_grey(pixels);
    case Change::blur: return blur(pixels, step.amount);
    case Change::solarize: return solarize(pixels, static_cast<int>(std::ceil(step.amount)));
    case Change::posterize: return posterize(pixels, static_cast<int>(step.amount));
    case Change::autocontrast: return autocontrast(pixels);
    case Change::equalize: return equalize(pixels);
    case Change::warp: break;
  }
  thread_local std::vector<std::uint8_t> from;
  from.assign(pixels.values, pixels.values + pixels.bytes());
  const auto stride = static_cast<std::size_t>(pixels.width * pixels.channels);
  warp({from.data(), pixels.height, pixels.width, pixels.channels, stride}, step.map, step.sampling, pixels.values);
}

void Augmentation::draw(int height, int width, Stream& random, Steps& steps) const {
  steps.clear();
  const bool trivial = policy == AugmentPolicy::trivialaugment;
  const int policy_count = policy == AugmentPolicy::none ? 0 : trivial ? 1 : policy_steps;
  for (int i = 0; i < policy_count; ++i) draw_policy_step(trivial, policy_magnitude, height, width, random, steps);

  if (rotate > 0 || translate > 0 || shear > 0 || zoom[0] != 1 || zoom[1] != 1) {
    Affine affine;
    affine.degrees = either_way(rotate, random);
    affine.right = std::nearbyint(either_way(translate * width, random));
    affine.down = std::nearbyint(either_way(translate * height, random));
    if (zoom[0] != 1 || zoom[1] != 1) affine.zoom = random.uniform(zoom[0], zoom[1]);
    affine.slant_right = either_way(shear, random);
    steps.push_back({Change::warp, 0, map_of(affine, height, width), Sampling::bilinear});
  }

  const auto first = static_cast<std::ptrdiff_t>(steps.size());
  const auto jitter = [&](Change kind, double strength) {
    if (strength > 0) steps.push_back({kind, random.uniform(std::max(0.0, 1 - strength), 1 + strength)});
  };
  jitter(Change::brightness, brightness);
  jitter(Change::contrast, contrast);
  jitter(Change::saturation, saturation);
  if (hue > 0) steps.push_back({Change::hue, random.uniform(-hue, hue)});
  // The order of the steps matters, as each one clips; Fisher-Yates shuffles them.
  for (auto left = static_cast<std::ptrdiff_t>(steps.size()) - first; left > 1; --left)
    std::swap(steps[static_cast<std::size_t>(first + left - 1)],
              steps[static_cast<std::size_t>(first) + random.below(static_cast<std::uint64_t>(left))]);

  const auto happens = [&](double probability) { return probability > 0 && random.uniform() < probability; };
  if (happens(grey)) steps.push_back({Change::grey});
  if (happens(blur)) steps.push_back({Change::blur, random.uniform(0.1, 2)});
  if (happens(solarize)) steps.push_back({Change::solarize, 128});
}

}  // namespace flowtrain
