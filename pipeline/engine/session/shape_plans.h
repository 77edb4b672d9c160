#pragma once
// Makes the plan of a loader's batches where the rows have free axes.

#include <string>

#include "pipeline/engine/session/assembly.h"

namespace flowtrain {

/// Measures the records of `parts`, whose data set, order and sampler are set, and sets its plan, batches and sampler
/// by loader.budget and loader.pack. Without free axes it changes nothing. Throws UserError(usage) for keys that need
/// free axes if there are none, and for those that do not fit together.
void set_shape_plan(DataParts& parts, const Config& config, bool training, LastBatch last);

/// Returns "938 batches of 64", and how they are made by lengths if they are.
std::string describe_batches(const DataParts& data);

}  // namespace flowtrain
