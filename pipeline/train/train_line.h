#pragma once
// The train line: what metrics.jsonl, TensorBoard and Prometheus tell of an iteration.

#include "pipeline/telemetry/json_lines.h"
#include "pipeline/train/logger.h"

namespace flowtrain {

/// The line's own fields, by name, in their order; without `kind`. What is not known is left out.
JsonObject train_fields(const StepEvent& event);

/// With what a net, a step or a hook logs, which cannot take the place of a field.
JsonObject train_line(const StepEvent& event, const Scalars& logged);

}  // namespace flowtrain
