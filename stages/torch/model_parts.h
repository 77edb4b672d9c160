#pragma once
// What a configuration can name. This header needs no torch.

#include <string>
#include <utility>
#include <vector>

namespace flowtrain {

/// What can be named in [net], [loss], [optim] and val.metrics: a kind ("nets") and its names.
std::vector<std::pair<std::string, std::vector<std::string>>> model_parts();

}  // namespace flowtrain
