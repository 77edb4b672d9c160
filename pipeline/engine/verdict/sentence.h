#pragma once
// Formats a verdict as a sentence, and as members of JSON.

#include <string>

#include "pipeline/base/telemetry/json_lines.h"
#include "pipeline/engine/verdict/model.h"

namespace flowtrain {

/// Returns "`sample` limits (2 workers, busy 97 % of the time): the net waited for data 40.0 % of the time; one more
/// worker (loader.workers = 3) would make training 1.33 times as fast, data that is always ready would make it 1.67
/// times as fast". Parts about the net are left out without one. It is empty for Limit::none.
std::string sentence(const Verdict& verdict, const PipelineLoad& load);

/// Returns {"limit":"sample","limit_share":0.97,"gain":[{"change":"one more
/// worker","speedup":1.33},…],"headspace":1.67}; without headspace if no net computes.
JsonObject verdict_fields(const Verdict& verdict);

}  // namespace flowtrain
