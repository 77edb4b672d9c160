#pragma once
// What a run will do, said before it begins.

#include <string>

#include "pipeline/session/assembly.h"
#include "stages/compute.h"

namespace flowtrain {

/// What is told of a run.
struct PlanParts {
  const Config& config;
  const DataParts& train;
  const DataParts* val = nullptr;  ///< null without validation
  const Schedule& schedule;
  std::size_t slab_bytes = 0;  ///< of one training batch
  NetFigures net = {};
  std::uint64_t row_bytes = 0;  ///< what a row of a batch leaves for backward
};

/// As text of several lines: steps and epochs, data, the graph's bound, validations and snapshots, net and memory, and
/// how the optimizers' rates move.
std::string describe_plan(const PlanParts& parts);

/// One line: "lenet: 340,970 parameters in 10 tensors, 1.36 MB; 2,432 frozen".
std::string describe_net(const Settings& net, const NetFigures& figures);

/// A line for each parameter: name, elements, shape, optimizer or frozen.
std::string list_parameters(const NetFigures& figures, const std::vector<RatePlan>& optimizers);

}  // namespace flowtrain
