#pragma once
// A net in one line, and its size.

#include <string>

#include "stages/compute.h"

namespace flowtrain {

class Settings;

/// Of all parameters and buffers.
std::uint64_t weight_bytes(const NetSummary& net_summary);

/// "lenet: 340,970 parameters in 10 tensors, 1.36 MB; 2,432 frozen". `net`: [net].
std::string describe_net(const Settings& net, const NetSummary& net_summary);

}  // namespace flowtrain
