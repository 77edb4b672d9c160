#pragma once
// The train line: what metrics.jsonl, TensorBoard and Prometheus tell of an iteration.

#include <functional>
#include <string>

#include "pipeline/base/telemetry/json_lines.h"
#include "pipeline/engine/train/logger.h"

namespace flowtrain {

/// The line's fields by name, without `kind`; what is not known is left out. Behind them what a net, a step or a hook
/// logs, of equal names the last; it cannot take the place of a field: `on_clash`, if given, is told its name.
JsonObject train_line(const StepEvent& event, const Scalars& logged,
                      const std::function<void(const std::string& name)>& on_clash = {});

}  // namespace flowtrain
