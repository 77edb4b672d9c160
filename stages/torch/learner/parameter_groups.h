#pragma once
// Who learns what: the net's parameters shared out among [[optim]] and [[group]] by their names.

#include <set>
#include <string>
#include <vector>

#include "nets/optim/optimizer.h"

namespace flowtrain {

class Settings;

/// Each parameter belongs to one optimizer, or is frozen.
struct SharedOut {
  std::vector<std::vector<nets::ParameterGroup>> optimizers;  ///< in the order of [[optim]]
  std::set<std::string> frozen;
};

/// Throws UserError(usage) for a pattern that matches nothing, a parameter of two optimizers, and one of none.
SharedOut share_out(const nets::NamedTensors& parameters, const std::vector<Settings>& optims,
                    const std::vector<Settings>& groups);

}  // namespace flowtrain
