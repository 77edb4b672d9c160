#pragma once
// Measures the speed at which the processes of a group exchange bytes. This header needs no torch.

#include <cstddef>
#include <string>
#include <vector>

#include "stages/core/group.h"

namespace flowtrain {

/// Sums `bytes` of f32 over the processes, `count` times one after the other, in memory of `device`; returns the
/// seconds of each one here. A collective of a TorchGroup. Throws UserError(distributed).
std::vector<double> time_all_reduce(Group& group, const std::string& device, std::size_t bytes, std::size_t count);

}  // namespace flowtrain
