#include "sampling/samplers/keys.h"

#include "sampling/core/text.h"

namespace flowtrain {

Key warnings_key() {
  return choice_key("warnings", "bad",
                    "a JPEG that can be decoded only with warnings (garbled, or cut short): bad, or accept its picture",
                    {"bad", "accept"});
}

Key exif_key(const char* fallback) {
  return choice_key("exif", fallback,
                    "turn JPEG, PNG and WebP pictures as the camera noted in Exif or XMP (apply), or take them as they "
                    "are stored (ignore)",
                    {"ignore", "apply"});
}

Decoding decoding_of(const Settings& sampler) {
  // A plugin's keys may have these names, and other types.
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
                         concat("write ", name, " = 224 or ", name, " = [192, 256], say"));
  return {both[0], both[1]};
}

std::vector<double> least_and_most(const Settings& settings, const std::string& name, const std::string& example) {
  const auto& values = settings.reals(name);
  if (values.size() != 2 || values[0] > values[1])
    throw settings.error(name, "must be [least, most]", ExitCode::usage, "write " + name + " = " + example + ", say");
  return values;
}

std::vector<Key> augment_keys() {
  return {
      choice_key("augment", "none", "training: randaugment or trivialaugment (wide), as torchvision has them, or none",
                 {"none", "randaugment", "trivialaugment"}),
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
