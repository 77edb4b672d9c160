#pragma once
// Lists the layers of a net with the shapes of what they give.

#include "nets/net.h"
#include "stages/model/compute.h"
#include "stages/model/layer_list.h"
#include "stages/model/learner_spec.h"

namespace flowtrain {

/// See LayerLister. `net` is in train mode, and is so again afterwards.
LayerList list_layers(nets::Net& net, const LearnerSpec& spec, const NetSummary& summary);

}  // namespace flowtrain
