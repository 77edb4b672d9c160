#pragma once
// The number of threads that make samples.

#include "stages/core/table_keys.h"

namespace flowtrain {

/// Returns the number of threads that decode, by loader.workers or val.workers: "auto" divides the usable cores among
/// the `processes_here`. Warns of a number that is far beyond the cores, and returns less.
unsigned workers_of(const Setting<Value>& key, unsigned processes_here = 1);

}  // namespace flowtrain
