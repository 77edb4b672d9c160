#pragma once
// The plan of each iteration, a pure function of its number.

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
  Every validate_every;     ///< applies after the last iteration, too
  Every snapshot_every;
  Every hash_every;             ///< period of lines in verify.jsonl
  bool final_snapshot = true;   ///< saves after the last iteration, whatever the period
  bool validate_first = false;  ///< finishes a validation that the resumed run was interrupted in
  std::vector<HyperParameterPlan> optimizers = std::vector<HyperParameterPlan>(1);

  std::vector<HyperParameters> hyper(std::uint64_t iteration) const {
    std::vector<HyperParameters> all;
    for (auto& optimizer : optimizers) all.push_back(optimizer.at(iteration));
    return all;
  }
  bool validates_after(std::uint64_t iteration) const {
    return !validate_every.off() && (validate_every.ends(iteration) || iteration == last);
  }
  /// Returns whether the period asks for a snapshot: each run of this configuration has it, wherever it ends.
  bool snapshot_is_due(std::uint64_t iteration) const { return snapshot_every.ends(iteration); }
  /// Returns whether a snapshot follows, by the period or because it is the last iteration.
  bool snapshots_after(std::uint64_t iteration) const {
    return snapshot_is_due(iteration) || (final_snapshot && iteration == last);
  }
  /// Returns whether its samples, loss and weights are hashed, for verify.jsonl.
  bool hashes(std::uint64_t iteration) const { return hash_every.ends(iteration); }
  /// Returns the plan without hyper-parameters.
  Plan plan(std::uint64_t iteration) const {
    return {.iteration = iteration,
            .validates = validates_after(iteration),
            .saves = snapshots_after(iteration),
            .saves_by_period = snapshot_is_due(iteration),
            .last = iteration == last};
  }
};

}  // namespace flowtrain
