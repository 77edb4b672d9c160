#pragma once
// Names that users choose from a list: nets, losses, optimizers, metrics.

#include <stdexcept>
#include <string>
#include <vector>

#include "sampling/core/text.h"

namespace flowtrain::nets {

/// Makes the error "unknown net 'x'; known: a, b".
inline std::invalid_argument unknown_name(const std::string& kind, const std::string& name,
                                          const std::vector<std::string>& known) {
  return std::invalid_argument("unknown " + kind + " '" + name + "'; known: " + join(known));
}

}  // namespace flowtrain::nets
