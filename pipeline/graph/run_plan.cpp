#include "pipeline/graph/run_plan.h"

namespace flowtrain {

namespace {

bool due(std::uint64_t iteration, std::uint64_t every) { return every > 0 && iteration % every == 0; }

}  // namespace

std::vector<HyperParameters> RunPlan::hyper(std::uint64_t iteration) const {
  std::vector<HyperParameters> all;
  for (auto& optimizer : optimizers) all.push_back(optimizer.at(iteration));
  return all;
}

bool RunPlan::validates_after(std::uint64_t iteration) const {
  return due(iteration, validate_every) || (validate_every > 0 && iteration == last);
}

bool RunPlan::snapshot_is_due(std::uint64_t iteration) const { return due(iteration, snapshot_every); }

bool RunPlan::snapshots_after(std::uint64_t iteration) const {
  return snapshot_is_due(iteration) || (final_snapshot && iteration == last);
}

Plan RunPlan::plan(std::uint64_t iteration) const {
  return {.iteration = iteration,
          .validates = validates_after(iteration),
          .saves = snapshots_after(iteration),
          .saves_by_period = snapshot_is_due(iteration),
          .last = iteration == last};
}

}  // namespace flowtrain
