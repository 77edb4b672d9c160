#pragma once
// What happens when: the plan of each iteration, a pure function of its number.

#include <cstdint>
#include <vector>

#include "pipeline/engine/graph/hyper_parameters.h"
#include "stages/core/every.h"
#include "stages/core/plan.h"

namespace flowtrain {

/// Iterations count from 1. A period of 0 means never.
struct RunPlan {
  std::uint64_t first = 1;  ///< iteration to begin with; later than 1 after a resume
  std::uint64_t last = 0;   ///< iteration to end with
  std::uint32_t accum = 1;  ///< micro-batches per iteration
  Every validate_every;     ///< also after the last iteration
  Every snapshot_every;
  Every hash_every;             ///< from one line of verify.jsonl to the next
  bool final_snapshot = true;   ///< after the last iteration, whatever the period
  bool validate_first = false;  ///< finish a validation that the resumed run was interrupted in
  std::vector<HyperParameterPlan> optimizers = std::vector<HyperParameterPlan>(1);

  std::vector<HyperParameters> hyper(std::uint64_t iteration) const {
    std::vector<HyperParameters> all;
    for (auto& optimizer : optimizers) all.push_back(optimizer.at(iteration));
    return all;
  }
  bool validates_after(std::uint64_t iteration) const {
    return !validate_every.off() && (validate_every.ends(iteration) || iteration == last);
  }
  /// By the period: so does each run of this configuration, wherever it ends.
  bool snapshot_is_due(std::uint64_t iteration) const { return snapshot_every.ends(iteration); }
  /// By the period, or because it is the last iteration.
  bool snapshots_after(std::uint64_t iteration) const {
    return snapshot_is_due(iteration) || (final_snapshot && iteration == last);
  }
  /// Whether its samples, loss and weights are hashed, for verify.jsonl.
  bool hashes(std::uint64_t iteration) const { return hash_every.ends(iteration); }
  /// All of this but the hyper-parameters.
  Plan plan(std::uint64_t iteration) const {
    return {.iteration = iteration,
            .validates = validates_after(iteration),
            .saves = snapshots_after(iteration),
            .saves_by_period = snapshot_is_due(iteration),
            .last = iteration == last};
  }
};

}  // namespace flowtrain
