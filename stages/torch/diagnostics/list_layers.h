#pragma once
// Lists the layers of a net with the shapes of their outputs.

#include "nets/net.h"
#include "stages/model/compute.h"
#include "stages/model/layer_list.h"
#include "stages/model/learner_spec.h"

namespace flowtrain {

/// Implements LayerLister. `net` is in train mode before and after.
LayerList list_layers(nets::Net& net, const LearnerSpec& spec, const NetSummary& summary);

}  // namespace flowtrain
