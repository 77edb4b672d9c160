#pragma once
// The loggers of a run.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/telemetry/metrics.h"
#include "pipeline/telemetry/progress.h"
#include "pipeline/train/logger.h"

namespace flowtrain {

/// One of them, and what the drawing of the graph says of it.
struct NamedLogger {
  std::string name, does;
  std::size_t depth;  ///< reports that may wait for it
  std::unique_ptr<Logger> logger;
};

/// `last`: iteration of the run. `metrics` may be null (runs without a folder).
std::vector<NamedLogger> make_loggers(ProgressMode progress, std::uint64_t last, MetricsFile* metrics);

}  // namespace flowtrain
