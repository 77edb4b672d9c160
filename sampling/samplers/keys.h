#pragma once
// Keys of several samplers, and their values.

#include <string>
#include <utility>
#include <vector>

#include "sampling/codecs/image.h"
#include "sampling/core/settings.h"
#include "sampling/images/augment.h"

namespace flowtrain {

/// Makes a key whose value is one of a few words.
inline Key choice_key(std::string name, std::string fallback, std::string help, std::vector<std::string> choices) {
  return {.name = std::move(name),
          .kind = Kind::text,
          .fallback = std::move(fallback),
          .help = std::move(help),
          .choices = std::move(choices)};
}

/// Makes the key `warnings`: "bad" or "accept".
Key warnings_key();
/// Makes the key `exif`: "ignore" or "apply".
Key exif_key(const char* fallback);
/// Returns the decoding of a sampler's settings; the default if it has no keys for it.
Decoding decoding_of(const Settings& sampler);

/// Returns the height and width of a key such as `size`, which holds one number or both. Throws UserError(usage) for
/// other lists, and if one of the two is 0.
std::pair<int, int> height_and_width(const Settings& settings, const std::string& name);

/// Returns the two numbers of a key such as `scale`. Throws UserError(usage) for other numbers than [least, most], with
/// `example` in the hint.
std::vector<double> least_and_most(const Settings& settings, const std::string& name,
                                   const std::string& example = "[0.5, 1.0]");

/// Returns the keys for random changes of training images.
std::vector<Key> augment_keys();
/// Returns the values of augment_keys(). Throws UserError(usage) if they do not fit together.
Augmentation augmentation(const Settings& settings);

}  // namespace flowtrain
