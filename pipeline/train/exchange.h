#pragma once
// What the processes of a group tell each other beside gradients.

#include <vector>

#include "stages/evaluation/ground_truth.h"
#include "stages/group.h"
#include "stages/slab.h"

namespace flowtrain {

/// Everyone's bad samples. A collective.
std::vector<BadSample> bad_samples_of_all(Group& group, const std::vector<BadSample>& mine);

/// Everyone's sights, by record, so that it does not matter who saw what. A collective.
std::vector<ImageResult> gather_image_results(Group& group, std::vector<ImageResult> mine);

}  // namespace flowtrain
