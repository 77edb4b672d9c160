#pragma once
// Lists the layers of a net with the shapes of what they give.

#include "nets/models/net.h"
#include "stages/compute.h"
#include "stages/layer_list.h"
#include "stages/learner_spec.h"

namespace flowtrain {

/// See LayerLister. `net` is in train mode, and is so again afterwards.
LayerList list_layers(nets::Net& net, const LearnerSpec& spec, const NetSummary& summary);

}  // namespace flowtrain
