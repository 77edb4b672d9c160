#pragma once
// The lines that a run logs before it begins.

#include "pipeline/engine/graph/run_plan.h"
#include "pipeline/engine/session/session.h"
#include "stages/model/compute.h"

namespace flowtrain {

/// Logs what the run works with: data, device, iterations, net, and notes about its keys.
void announce(const Session& session, const RunPlan& run_plan, Learner& learner);

}  // namespace flowtrain
