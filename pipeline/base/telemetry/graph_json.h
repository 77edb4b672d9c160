#pragma once
// The text of RUN/graph.json: how a run is wired, and which of its metrics are better when they are lower.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/base/telemetry/drawing.h"
#include "pipeline/base/values/ruled_metric.h"
#include "stages/core/every.h"

namespace flowtrain {

/// Facts about a run that graph.json holds beside the drawing, for pages that are made of it later.
struct RunShape {
  Every epoch = {};
  std::uint64_t last_iteration = 0;                            ///< that the run goes to
  std::uint64_t batch = 0;                                     ///< samples of an iteration's batches, of all processes
  std::vector<RuledMetric> metrics = {};                       ///< of validations
  std::vector<std::pair<std::string, RuledMetric>> best = {};  ///< by which snapshots are kept: link and metric
};

/// The text of graph.json: nodes, edges, and the shape; a metric's direction is "min" or "max".
std::string graph_json(const Drawing& drawing, const RunShape& shape);

}  // namespace flowtrain
