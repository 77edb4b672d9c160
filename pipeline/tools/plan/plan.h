#pragma once
// Describes what a run will do before it begins. This computes no more than a forward pass over two samples.

#include <string>

#include "pipeline/base/config/config.h"
#include "stages/model/learner_spec.h"

namespace flowtrain {

/// Returns text: steps and epochs, data, the graph's bound, validations, snapshots, net, memory, and learning rates.
/// Without a length of the run it is about one epoch, and without net.name about the data alone.
std::string plan_run(const Config& config, const MakeLearner& make_learner);

/// Returns the net, a line for each layer (describe_layers), and one for each parameter with its size and optimizer.
std::string summarise_net(const Config& config, const MakeLearner& make_learner);

/// Returns a line for each call of a hook: the event and the order.
std::string list_hooks(const Config& config, const MakeLearner& make_learner);

}  // namespace flowtrain
