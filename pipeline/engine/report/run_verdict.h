#pragma once
// The limit of a whole run: its last sentence, and a line of metrics.jsonl.

#include <string>

#include "pipeline/base/telemetry/json_lines.h"
#include "pipeline/engine/verdict/model.h"
#include "stages/core/group.h"

namespace flowtrain {

struct RunVerdict {
  std::string text;        ///< one sentence; empty: not known
  JsonObject fields = {};  ///< verdict_fields(), with `rank` if several processes train
};

/// Returns the verdict of the slowest process, which waited least for the others. A collective.
RunVerdict run_verdict(const PipelineLoad& own, Group& group);

}  // namespace flowtrain
