#pragma once
// The bad samples that the ranks of a group found, gathered.

#include <vector>

#include "stages/core/group.h"
#include "stages/loader/slab.h"

namespace flowtrain {

/// Returns the bad samples of all ranks, in the order of the ranks. A collective.
std::vector<BadSample> bad_samples_of_all(Group& group, const std::vector<BadSample>& mine);

}  // namespace flowtrain
