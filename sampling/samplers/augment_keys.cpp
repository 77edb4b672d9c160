#include "sampling/samplers/augment_keys.h"

#include <string>

#include "sampling/core/settings.h"

namespace flowtrain {

std::vector<Key> augment_keys() {
  return {
      {.name = "augment",
       .kind = Kind::text,
       .fallback = std::string("none"),
       .help = "training: randaugment or trivialaugment (wide), as torchvision has them, or none",
       .choices = {"none", "randaugment", "trivialaugment"}},
      {"augment_steps", Kind::integer, std::int64_t{2}, "randaugment: operations for each picture", 1, 14},
      {"augment_magnitude", Kind::integer, std::int64_t{9}, "randaugment: their strength", 0, 30},
      {"rotate", Kind::real, 0.0, "training: turn by up to this many degrees either way", 0, 180},
      {"translate", Kind::real, 0.0, "training: move by up to this share of each side", 0, 1},
      {"zoom", Kind::reals, std::vector<double>{1, 1}, "training: least and most enlargement", 0.01, 100},
      {"shear", Kind::real, 0.0, "training: slant by up to this many degrees either way", 0, 89},
      {"brightness", Kind::real, 0.0, "training: strength of brightness jitter, 0 = off", 0, 10},
      {"contrast", Kind::real, 0.0, "training: strength of contrast jitter, 0 = off", 0, 10},
      {"saturation", Kind::real, 0.0, "training: strength of saturation jitter, 0 = off", 0, 10},
      {"hue", Kind::real, 0.0, "training: turn colours by up to this share of their circle, 0 = off", 0, 0.5},
      {"grey", Kind::real, 0.0, "training: probability of losing all colour", 0, 1},
      {"blur", Kind::real, 0.0, "training: probability of a Gaussian blur", 0, 1},
      {"solarize", Kind::real, 0.0, "training: probability of inverting levels from 128 on", 0, 1},
  };
}

Augmentation augmentation(const Settings& settings) {
  Augmentation made;
  const auto& policy = settings.text("augment");
  if (policy == "randaugment") made.policy = AugmentPolicy::randaugment;
  if (policy == "trivialaugment") made.policy = AugmentPolicy::trivialaugment;
  made.policy_steps = static_cast<int>(settings.integer("augment_steps"));
  made.policy_magnitude = static_cast<int>(settings.integer("augment_magnitude"));
  made.rotate = settings.real("rotate");
  made.translate = settings.real("translate");
  made.shear = settings.real("shear");
  const auto& zoom = settings.reals("zoom");
  if (zoom.size() != 2 || zoom[0] > zoom[1])
    throw settings.error("zoom", "must be [least, most]", ExitCode::usage, "write zoom = [0.9, 1.1], say");
  made.zoom = {zoom[0], zoom[1]};
  made.brightness = settings.real("brightness");
  made.contrast = settings.real("contrast");
  made.saturation = settings.real("saturation");
  made.hue = settings.real("hue");
  made.grey = settings.real("grey");
  made.blur = settings.real("blur");
  made.solarize = settings.real("solarize");
  return made;
}

}  // namespace flowtrain
