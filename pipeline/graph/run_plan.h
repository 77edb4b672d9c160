#pragma once
// What happens when: the plan of each iteration, a pure function of its number.

#include <cstdint>
#include <vector>

#include "pipeline/graph/hyper_parameters.h"
#include "stages/plan.h"

namespace flowtrain {

/// Iterations count from 1. A period of 0 means never.
struct RunPlan {
  std::uint64_t first = 1;           ///< iteration to begin with; later than 1 after a resume
  std::uint64_t last = 0;            ///< iteration to end with
  std::uint32_t accum = 1;           ///< micro-batches per iteration
  std::uint64_t validate_every = 0;  ///< also after the last iteration
  std::uint64_t snapshot_every = 0;
  bool final_snapshot = true;   ///< after the last iteration, whatever the period
  bool validate_first = false;  ///< finish a validation that the resumed run was interrupted in
  std::vector<HyperParameterPlan> optimizers = std::vector<HyperParameterPlan>(1);

  std::vector<HyperParameters> hyper(std::uint64_t iteration) const;
  bool validates_after(std::uint64_t iteration) const;
  /// By the period: so does each run of this configuration, wherever it ends.
  bool snapshot_is_due(std::uint64_t iteration) const;
  /// Likewise, or because it is the last one.
  bool snapshots_after(std::uint64_t iteration) const;
  /// All of this, but for the hyper-parameters, which rates() gives.
  Plan plan(std::uint64_t iteration) const;
};

}  // namespace flowtrain
