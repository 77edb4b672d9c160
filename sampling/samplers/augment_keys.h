#pragma once
// Random changes of training pictures, as keys of a sampler's table.

#include <vector>

#include "sampling/images/augment.h"

namespace flowtrain {

struct Key;
class Settings;

std::vector<Key> augment_keys();
/// Throws UserError(usage) where values do not fit together.
Augmentation augmentation(const Settings& settings);

}  // namespace flowtrain
