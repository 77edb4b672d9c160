#include "sampling/samplers/keys.h"

#include "sampling/core/text.h"

namespace flowtrain {

Key warnings_key() {
  return choice_key("warnings", "bad",
                    "treatment of a JPEG whose decoder warns (garbled, or cut short): bad, or accept its image",
                    {"bad", "accept"});
}

Key exif_key(const char* fallback) {
  return choice_key("exif", fallback,
                    "turn JPEG, PNG and WebP images as the camera noted in Exif or XMP (apply), or take them as they "
                    "are stored (ignore)",
                    {"ignore", "apply"});
}

Decoding decoding_of(const Settings& sampler) {
  // A plugin may have keys of these names with other types.
  const auto says = [&](const char* key, const Value& value) {
    return sampler.has(key) && sampler.value(key) == value;
  };
  return {.warnings = says("warnings", std::string("accept")) ? Warnings::accept : Warnings::bad,
          .exif = says("exif", std::string("apply")) ? Exif::apply : Exif::ignore,
          .fast = !says("fast_decode", false)};
}

std::pair<int, int> height_and_width(const Settings& settings, const std::string& name) {
  if (const auto* side = std::get_if<std::int64_t>(&settings.value(name))) return {*side, *side};
  const auto& both = settings.integers(name);
  if (both.size() != 2 || (both[0] == 0) != (both[1] == 0))
    throw settings.error(name, "must be one number or [height, width]", ExitCode::usage,
                         concat("write it like ", name, " = 224 or ", name, " = [192, 256]"));
  return {both[0], both[1]};
}

std::vector<double> least_and_most(const Settings& settings, const std::string& name, const std::string& example) {
  const auto& values = settings.reals(name);
  if (values.size() != 2 || values[0] > values[1])
    throw settings.error(name, "must be [least, most]", ExitCode::usage, "write it like " + name + " = " + example);
  return values;
}

std::vector<Key> augment_keys() {
  return {
      choice_key("augment", "none", "training policy: torchvision's randaugment or trivialaugment (wide), or none",
                 {"none", "randaugment", "trivialaugment"}),
      {"augment_steps", Kind::integer, std::int64_t{2}, "number of operations of randaugment per image", 1, 14},
      {"augment_magnitude", Kind::integer, std::int64_t{9}, "strength of randaugment's operations", 0, 30},
      {"rotate", Kind::real, 0.0, "turn training images by up to this many degrees either way", 0, 180},
      {"translate", Kind::real, 0.0, "move training images by up to this share of each side", 0, 1},
      {"zoom", Kind::reals, std::vector<double>{1, 1}, "least and most enlargement of training images", 0.01, 100},
      {"shear", Kind::real, 0.0, "slant training images by up to this many degrees either way", 0, 89},
      {"brightness", Kind::real, 0.0, "strength of brightness jitter in training; 0: off", 0, 10},
      {"contrast", Kind::real, 0.0, "strength of contrast jitter in training; 0: off", 0, 10},
      {"saturation", Kind::real, 0.0, "strength of saturation jitter in training; 0: off", 0, 10},
      {"hue", Kind::real, 0.0, "turn colours in training by up to this share of their circle; 0: off", 0, 0.5},
      {"grey", Kind::real, 0.0, "probability that a training image becomes grey", 0, 1},
      {"blur", Kind::real, 0.0, "probability of a Gaussian blur in training", 0, 1},
      {"solarize", Kind::real, 0.0, "probability of inverting levels from 128 on in training", 0, 1},
  };
}

Augmentation augmentation(const Settings& settings) {
  const auto& policy = settings.text("augment");
  const auto zoom = least_and_most(settings, "zoom", "[0.9, 1.1]");
  return {.policy = policy == "randaugment"      ? AugmentPolicy::randaugment
                    : policy == "trivialaugment" ? AugmentPolicy::trivialaugment
                                                 : AugmentPolicy::none,
          .policy_steps = static_cast<int>(settings.integer("augment_steps")),
          .policy_magnitude = static_cast<int>(settings.integer("augment_magnitude")),
          .rotate = settings.real("rotate"),
          .translate = settings.real("translate"),
          .shear = settings.real("shear"),
          .zoom = {zoom[0], zoom[1]},
          .brightness = settings.real("brightness"),
          .contrast = settings.real("contrast"),
          .saturation = settings.real("saturation"),
          .hue = settings.real("hue"),
          .grey = settings.real("grey"),
          .blur = settings.real("blur"),
          .solarize = settings.real("solarize")};
}

}  // namespace flowtrain
