#pragma once
// result.json holds the results of a run, for comparisons of runs.

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
  std::string params_xxh64;  ///< empty if the run was interrupted
  std::uint64_t weights_of;  ///< iteration of these weights
  std::uint32_t batch;       ///< number of samples, of all processes
};

/// Makes one JSON object: `iteration`, `epoch` (with a fraction), `seconds` of training over all starts, `batch`,
/// `ended` (done, stopped or interrupted; `why` if it was stopped early), `params_xxh64`, `weights_of` if they are not
/// the last iteration's, and, if it was validated, `best` and `best-<metric>`: metric, value and iteration.
std::string result_record(const RunResult& run);

}  // namespace flowtrain
