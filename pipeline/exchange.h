#pragma once
// What the processes of a group tell each other beside gradients.

#include <vector>

#include "stages/group.h"
#include "stages/slab.h"

namespace flowtrain {

/// Everyone's bad samples. A collective.
std::vector<BadSample> bad_samples_of_all(Group& group, const std::vector<BadSample>& mine);

}  // namespace flowtrain
