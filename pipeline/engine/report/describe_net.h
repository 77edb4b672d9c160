#pragma once
// A net in one line, and its size.

#include <string>

#include "stages/model/compute.h"
#include "stages/model/layer_list.h"

namespace flowtrain {

class Settings;

/// Of all parameters and buffers.
std::uint64_t weight_bytes(const NetSummary& net_summary);

/// "lenet: 340,970 parameters in 10 tensors, 1.36 MB; 2,432 frozen". `net`: [net].
std::string describe_net(const Settings& net, const NetSummary& net_summary);

/// The layers, a line each: name, kind, what they give for a batch, parameters, bytes, trainable or frozen. Above them
/// stands the list's note, where it has one.
std::string describe_layers(const LayerList& list);

}  // namespace flowtrain
