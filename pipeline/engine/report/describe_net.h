#pragma once
// A net in one line, and its size.

#include <string>

#include "stages/model/compute.h"
#include "stages/model/layer_list.h"

namespace flowtrain {

class Settings;

/// Returns the bytes of all parameters and buffers.
std::uint64_t weight_bytes(const NetSummary& net_summary);

/// Returns "lenet: 340,970 parameters in 10 tensors, 1.36 MB; 2,432 frozen". `net` is [net].
std::string describe_net(const Settings& net, const NetSummary& net_summary);

/// Lists the layers, a line each: name, kind, shape of the output for a batch, parameters, bytes, trainable or frozen.
/// The list's note, if any, comes first.
std::string describe_layers(const LayerList& list);

}  // namespace flowtrain
