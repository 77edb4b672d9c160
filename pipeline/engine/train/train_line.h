#pragma once
// The train line: the fields of an iteration in metrics.jsonl, TensorBoard and Prometheus.

#include <functional>
#include <string>

#include "pipeline/base/telemetry/json_lines.h"
#include "pipeline/engine/train/logger.h"

namespace flowtrain {

/// Returns the line's known fields by name, without `kind`, and the values that a net, a step or a hook has logged. The
/// last of equal names is taken. A logged value cannot replace a field: `on_clash`, if given, is called with its name.
JsonObject train_line(const StepEvent& event, const Scalars& logged,
                      const std::function<void(const std::string& name)>& on_clash = {});

}  // namespace flowtrain
