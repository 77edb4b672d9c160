#pragma once
// Formats a line of metrics.jsonl for people.

#include <nlohmann/json.hpp>
#include <string>

#include "pipeline/runs/run_reader/run_summary.h"

namespace flowtrain::watch {

/// "iter 20/700  epoch 1  loss 1.7912 …", "validation at iteration 700: loss 0.0392  accuracy 0.9830"; other kinds as
/// "resume at iteration 20"; empty for kinds that repeat others.
std::string event_line(const nlohmann::ordered_json& line, const RunSummary& summary);

}  // namespace flowtrain::watch
