#pragma once
// The settings under which `flowtrain test` measures its sets: [[test.setting]] and [[test.sweep]].

#include <string>
#include <vector>

#include "pipeline/base/config/config.h"

namespace flowtrain {

/// Changes of the configuration under which a snapshot is measured.
struct InferenceSetting {
  std::string name = {};  ///< part of a folder's name, without '/'; empty: nothing is changed
  std::vector<Override> overrides = {};
};

/// Returns the setting of each [[test.setting]], then each combination of the values of the [[test.sweep]]s, of which
/// the last changes fastest; without both, a single setting without a name. Throws UserError(usage) for a change that
/// is not "key=value", and for keys of one [[test.sweep]] with different numbers of values.
std::vector<InferenceSetting> inference_settings(const Config& config);

}  // namespace flowtrain
