#pragma once
// result.json: what came of a run, for whoever compares runs.

#include <string>
#include <vector>

#include "pipeline/engine/train/run_state.h"
#include "pipeline/engine/train/trainer.h"
#include "pipeline/engine/validation/best.h"

namespace flowtrain {

struct RunResult {
  const TrainerResult& result;
  const RunState& state;
  const std::vector<BestRule>& rules;
  Every epoch;
  std::string params_xxh64;  ///< empty where the run was interrupted
  std::uint64_t weights_of;  ///< the iteration whose weights these are
  std::uint32_t batch;       ///< samples, of all processes
};

/// One JSON object: `iteration`, `epoch` (with a fraction), `seconds` of training over all starts, `batch`, `ended`
/// (done, stopped or interrupted; `why` where it was stopped early), `params_xxh64`, `weights_of` where they are not
/// the last iteration's, and, where it was validated, `best` and `best-<metric>`: metric, value and iteration.
std::string result_record(const RunResult& run);

}  // namespace flowtrain
