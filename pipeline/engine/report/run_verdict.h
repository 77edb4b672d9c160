#pragma once
// What limited a run, at its end: its last sentence, and a line of metrics.jsonl.

#include <string>

#include "pipeline/base/telemetry/json_lines.h"
#include "pipeline/engine/verdict/model.h"
#include "stages/core/group.h"

namespace flowtrain {

struct RunVerdict {
  std::string text;        ///< one sentence; empty: nothing is known
  JsonObject fields = {};  ///< verdict_fields(), with `rank` where several processes train
};

/// Of several processes that of the slowest: the one that waited least for the others. A collective.
RunVerdict run_verdict(const PipelineLoad& own, Group& group);

}  // namespace flowtrain
