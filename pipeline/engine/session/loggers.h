#pragma once
// The loggers of a run.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "pipeline/base/telemetry/metrics.h"
#include "pipeline/base/telemetry/progress.h"
#include "pipeline/engine/train/logger.h"
#include "stages/core/every.h"

namespace flowtrain {

/// One of them, and what the drawing of the graph says of it.
struct NamedLogger {
  std::string name, does;
  std::size_t depth;  ///< reports that may wait for it
  std::unique_ptr<Logger> logger;
};

/// The parts that loggers are made of.
struct LoggerParts {
  const Config& config;
  ProgressMode progress = ProgressMode::off;
  std::uint64_t first = 1, last = 0;  ///< iterations of this start
  MetricsFile* metrics = nullptr;     ///< null: this process writes no files
  Every epoch = 1;

  /// Returns the run's folder. Call it only with `metrics`.
  std::filesystem::path folder() const { return metrics->path().parent_path(); }
};

std::vector<NamedLogger> make_loggers(const LoggerParts& parts);

}  // namespace flowtrain
