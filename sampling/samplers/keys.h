#pragma once
// Keys that several samplers have in their tables, and their values.

#include <string>
#include <utility>
#include <vector>

#include "sampling/codecs/image.h"
#include "sampling/core/settings.h"
#include "sampling/images/augment.h"

namespace flowtrain {

/// A key whose value is one of a few words.
inline Key choice_key(std::string name, std::string fallback, std::string help, std::vector<std::string> choices) {
  return {.name = std::move(name),
          .kind = Kind::text,
          .fallback = std::move(fallback),
          .help = std::move(help),
          .choices = std::move(choices)};
}

/// `warnings`: "bad" or "accept".
Key warnings_key();
/// `exif`: "ignore" or "apply".
Key exif_key(const char* fallback);
/// The decoding that a sampler's settings ask for; the default where it has no keys for it.
Decoding decoding_of(const Settings& sampler);

/// Returns the height and width of a key such as `size`, which holds one number or both. Throws UserError(usage) for
/// other lists, and where one of the two is 0.
std::pair<int, int> height_and_width(const Settings& settings, const std::string& name);

/// The two numbers of a key such as `scale`. Throws UserError(usage) for other numbers than [least, most], with
/// `example` in the hint.
std::vector<double> least_and_most(const Settings& settings, const std::string& name,
                                   const std::string& example = "[0.5, 1.0]");

/// Random changes of training pictures.
std::vector<Key> augment_keys();
/// Throws UserError(usage) where values do not fit together.
Augmentation augmentation(const Settings& settings);

}  // namespace flowtrain
