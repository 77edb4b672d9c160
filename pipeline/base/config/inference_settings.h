#pragma once
// How `flowtrain test` looks at its sets: [[test.setting]] and [[test.sweep]].

#include <string>
#include <vector>

#include "pipeline/base/config/config.h"

namespace flowtrain {

/// Changes of the configuration under which a snapshot is measured.
struct InferenceSetting {
  std::string name = {};  ///< part of a folder's name: without '/'; empty: the configuration as it is
  std::vector<Override> overrides = {};
};

/// Those of each [[test.setting]], then each combination of the values of the [[test.sweep]]s, the last of which
/// changes fastest; a single one without a name where there are neither. Throws UserError(usage) for a change that is
/// not "key=value", and for keys of one [[test.sweep]] with different numbers of values.
std::vector<InferenceSetting> inference_settings(const Config& config);

}  // namespace flowtrain
