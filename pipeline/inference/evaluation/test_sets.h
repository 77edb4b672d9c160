#pragma once
// The sets that `flowtrain test` measures on.

#include <string>
#include <vector>

#include "pipeline/engine/session/validation_data.h"

namespace flowtrain {

/// Returns the sets called `names`: "val" is [data.val], "test" [data.test], others are [[val.set]]s and [[test.set]]s.
/// Without names, these are [data.test] and each [[test.set]], or if there are none, [data.val] and each [[val.set]].
/// SetConfig's name of [data.val] is empty. Throws UserError(usage) for a name that no set has, or two.
std::vector<SetConfig> test_sets(const Config& config, const std::vector<std::string>& names);

/// Returns the name that people write: "val" for the empty one.
inline std::string shown_set(const std::string& set) { return set.empty() ? "val" : set; }

}  // namespace flowtrain
