#pragma once
// Checks of keys that several optimizers have. They throw UserError(usage) at the key.

#include <string>

#include "sampling/core/settings.h"

namespace flowtrain::nets {

/// Expects a number below 1.
inline void check_below_one(const Settings& settings, const std::string& key) {
  if (settings.real(key) >= 1)
    throw settings.error(key, "expected a number below 1, got " + to_toml(settings.value(key)));
}

/// Expects two numbers below 1.
inline void check_betas(const Settings& settings, const std::string& key) {
  const auto& betas = settings.reals(key);
  if (betas.size() != 2 || betas[0] >= 1 || betas[1] >= 1)
    throw settings.error(key, "expected two numbers below 1, got " + to_toml(settings.value(key)));
}

}  // namespace flowtrain::nets
